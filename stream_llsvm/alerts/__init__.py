"""Who is told when a run is in trouble: the rules, what fires, and where messages go."""
