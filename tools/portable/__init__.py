"""Numerical tests and quick claims under other instruction sets, BLAS kernels and numbers of cores.

`python -m tools.portable` runs everything that has not passed yet and prints a table.
"""
