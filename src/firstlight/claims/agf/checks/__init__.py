"""Checks of the AGF claims, one module per topic."""
