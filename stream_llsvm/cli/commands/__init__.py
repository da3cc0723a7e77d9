"""One command a file: its options, its help, and the call of what does it."""
