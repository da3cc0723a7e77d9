"""The nearest of the records remembered, in a learned metric."""
