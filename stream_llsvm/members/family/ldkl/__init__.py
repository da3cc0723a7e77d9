"""Local deep kernel learning: a tree of soft gates, and a linear machine at each of its nodes."""
