"""Numbers instead of classes: anchors' machines, and a blend of their step sizes."""
