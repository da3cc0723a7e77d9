"""Pegasos: a linear machine per score, and its losses."""
