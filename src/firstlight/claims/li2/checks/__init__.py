"""Checks of the Li₂ claims, one module per topic."""
