"""Random ferns."""
