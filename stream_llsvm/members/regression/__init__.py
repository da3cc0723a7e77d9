"""Numbers instead of classes, by anchors."""
