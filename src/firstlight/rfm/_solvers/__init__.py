"""Kernels, kernel matrices in blocks, and the linear systems of a kernel machine."""
