"""Torch experiments for claims: exact critical points, layers of every kind, perceptrons trained to convergence."""
