"""Boosted trees: thresholds, found as the stream goes on."""
