"""The budget member: kernelised Pegasos over a bounded number of support vectors."""
