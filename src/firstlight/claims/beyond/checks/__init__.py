"""Checks of the claims beyond the papers, a module per topic."""
