"""A curve for each feature."""
