"""Checks of the claims between two papers, one module per topic."""
