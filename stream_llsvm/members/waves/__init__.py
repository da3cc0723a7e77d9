"""Least squares over random Fourier features."""
