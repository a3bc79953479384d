"""Run numerical tests and quick claims under other instruction sets, BLAS kernels and numbers of cores.

`python -m tools.portable` runs all parts that have not passed yet and prints a table.
"""
