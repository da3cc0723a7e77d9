"""The estimators, in river's interface."""
