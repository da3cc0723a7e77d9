"""Members that no default model has."""
