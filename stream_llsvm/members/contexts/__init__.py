"""Contexts: how often each class came with what fields say together."""
