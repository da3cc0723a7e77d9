"""An append-only log in a folder: what a server acknowledged, and the source that replays it."""
