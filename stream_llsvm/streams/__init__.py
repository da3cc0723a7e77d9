"""Endless streams to look at and to try things out on."""
