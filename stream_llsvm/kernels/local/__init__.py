"""Local SVMs: a window of records, and a small SVM solved among the query's neighbours."""
