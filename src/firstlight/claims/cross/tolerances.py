"""Tolerances of the checks between two papers; the statements publish the same numbers."""

SAME_ENERGY = 1e-9
"""Relative difference of two closed forms."""
ISOLATED_IDENTITY = 1e-9
"""Relative error of identities in float64 with the condition number of HHᵀ + λI."""
