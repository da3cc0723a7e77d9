"""The live page of a run: what an engine does, shown in a browser, and as metrics."""
