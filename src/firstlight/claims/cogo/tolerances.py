"""Tolerances of the CoGO checks; the statements publish the same numbers."""

ZERO_LOSS = 1e-24
"""Loss that counts as zero: squared residuals of rounding size in float64."""
ZERO_RESIDUAL = 1e-12
"""Residual of eq. (4) that counts as zero: one potential of rounding size in float64."""

CHARACTER_SUMS = 1e-12
"""Error of sums of at most 143 numbers of modulus 1."""
LOSS_ROUNDING = 1e-12
"""Relative error of the loss as a sum over d³ frequencies; also a potential that counts as zero."""
RING_ROUNDING = 1e-12
"""Relative error of the semi-ring's laws and of its homomorphisms."""

LEAST_NORM, LEAST_NORM_FORM = 1e-9, 1e-4
"""Lemma 2: error of residuals and norms after least squares, and distance of z from its form z̃ ∗ y."""
SAME_NORM = 1e-9
"""Relative error of the squared norm at the end of a path: a sum over nodes and frequencies."""

VELOCITY, JACOBIAN_DIFFERENCE = 1e-10, 1e-5
"""Relative error of the potentials' velocity, and error of J against central differences."""
RIPPLE_ENERGY = 1e-9
"""Drift of the conserved energy H of a ripple."""

TRAINED_POTENTIALS = 0.03
"""How far Σ r_kkk may be from its limit at the end of training, relative to (d − 1)/2d."""
