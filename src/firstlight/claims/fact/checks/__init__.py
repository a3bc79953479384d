"""Checks of the FACT claims, one module per topic."""
