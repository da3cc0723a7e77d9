"""A record: its values, names and label, as numbers that kernels take."""
