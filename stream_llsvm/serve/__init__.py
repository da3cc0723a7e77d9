"""Models behind HTTP: records in, predictions out, and all of it learned from a durable log."""
