"""The engine: records in, predictions out, every record learned exactly once."""
