"""What stands in front of a model, as plain data that is safe to read."""
