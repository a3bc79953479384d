"""Checks of the CoGO claims, one module per topic."""
