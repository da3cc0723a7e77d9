"""How often each class has come of late."""
