"""Kernels as features: river transformers after which a linear machine is a kernel machine."""
