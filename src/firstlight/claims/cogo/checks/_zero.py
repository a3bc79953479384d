"""When a loss or a monomial potential counts as zero."""

from firstlight.claims._criteria import Numbers, at_most
from firstlight.records import Criterion, CriterionForm

ZERO_LOSS = 1e-24
"""Loss that counts as zero: 100 outputs of 300 hidden units each, 100 × 300 × (26 × 2⁻⁵²)²."""
ZERO_POTENTIAL = 1e-12
"""Potential that counts as zero: a sum of at most 300 terms of modulus at most 1, 300 × 15 × 2⁻⁵²."""


def zero_loss(clause: str, quantity: str, value: Numbers, form: CriterionForm = "statement") -> Criterion:
    """Require a loss to be zero up to rounding."""
    reason = "squared rounding errors of 100 outputs with 300 hidden units each: 100 × 300 × (26 × 2⁻⁵²)²"
    return at_most(clause, quantity, value, ZERO_LOSS, reason=reason, form=form)


def zero_potential(clause: str, quantity: str, value: Numbers, form: CriterionForm = "statement") -> Criterion:
    """Require a monomial potential, or the error of one, to be zero up to rounding."""
    reason = "a sum of at most 300 terms of modulus at most 1 rounds by 300 × 2⁻⁵²; the factor is 15"
    return at_most(clause, quantity, value, ZERO_POTENTIAL, reason=reason, form=form)
