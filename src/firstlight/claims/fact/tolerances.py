"""Tolerances of the FACT checks; the statements publish the same numbers."""

from firstlight.records import ClaimScale as Scale

CRITICAL_POINT = 1e-8
"""Error of the theorem relative to ‖NFM‖, in double precision at ‖∇L_λ‖ ≤ 1e-11 λ‖θ‖."""
BALANCED = 1e-9
"""Relative error of the identities of balanced linear networks."""
HIGH_COSINE = 0.999
"""Cosine that counts as close to 1: the paper's own bound for FACT."""

NEAR_PERFECT, RISE, BEHIND = 0.95, 0.05, 1e-3
"""FACT at the end, its rise from half-way, and by how much √(FACT·FACTᵀ) may be behind FACT where both are near 1."""

FACT_COSINE = 1e-6
"""How far cos(FACT, WᵀW) may be from 1. Rounding of ∇L over λ is 1e-6 at λ = 1e-10; the cosine has its square."""
AGOP_COSINE = 1e-3
"""How far cos(AGOP, WᵀW) may be from its value without a factor ½ in the loss."""
CONSTRUCTION, BELOW_BOUND, ABOVE_BOUND = 1e-12, 1e-6, 1e-3
"""Errors of the construction, and of the cheapest network that descents reach, below and above the bound."""

CLOSED_FORM = 1e-10
"""Relative error of a closed form against differentiation."""
PREDICTIONS = 1e-8
"""Relative difference of predictions after three updates."""
FIXED_POINT = 1e-10
"""How far an update may move M where FACT = M. The entries of M are of order one."""
PARITY_KEPT, PARITY_LOST = 0.99, 0.9
"""Appendix E: test accuracies above which a parity counts as learned and below which it counts as lost."""

PARITY_CHANCE, PARITY_LEARNED, ON_SUPPORT = 0.7, 0.98, 0.9
"""Largest test accuracy of the plain kernel, accuracy of a learned parity, and share of M's norm on the support."""

MODULAR_ACCURACY: dict[Scale, float] = {"quick": 0.97, "paper": 0.99}
"""Test accuracy of a network that has learned modular addition."""
DELAYED, CIRCULANT, STALLED = 0.1, 0.7, 0.9
"""Largest test accuracy at iteration 2, smallest block-circulant share of M, and accuracy below which a run failed."""
SIMILAR_FACTORS: dict[Scale, float] = {"quick": 0.9, "paper": 0.95}
"""Figure 7: smallest correlation of the factors of AGOP and FACT."""

TABLE_3 = 0.3
"""How far a mean accuracy may be from the printed mean, in percentage points."""
