"""Pegasos: one linear machine a class, by primal steps that shorten on a schedule."""
