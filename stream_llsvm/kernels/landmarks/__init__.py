"""The landmarks member: clusters that share a projection on landmarks."""
