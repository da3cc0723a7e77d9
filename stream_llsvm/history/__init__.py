"""What a run was like, for longer than its process lives: in a file beside its checkpoints."""
