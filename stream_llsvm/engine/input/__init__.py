"""What the fields of records do: missing, new, out of range, or others than they were."""
