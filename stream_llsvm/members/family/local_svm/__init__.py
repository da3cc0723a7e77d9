"""A small SVM among the nearest records for each query."""
