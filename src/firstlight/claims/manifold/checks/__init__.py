"""Checks of the claims on the geometry of grokking, one module per topic."""
