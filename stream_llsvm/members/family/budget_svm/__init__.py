"""Kernelised Pegasos with a bounded number of support vectors."""
