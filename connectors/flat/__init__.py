"""Records that lie flat in their bytes, read many at a time by compiled loops."""
