"""What counts as zero in the claims of CoGO."""

ZERO_LOSS = 1e-24
"""Squared residuals of rounding size in float64."""
