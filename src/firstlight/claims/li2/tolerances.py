"""Tolerances of the Li₂ checks; the statements publish the same numbers."""

from firstlight.records import ClaimScale as Scale

RIDGE_ROUNDING = 1e-9
"""Relative error of the ridge solution, its gradient and Hermite integrals in float64."""
LEMMA_1_COSINE, LEMMA_1_SCALE, LEMMA_1_POWER = 0.95, 0.1, 0.2
"""Lemma 1: smallest cosine, relative error of the scale, and error of the power of K."""

ENERGY_GRADIENT = 1e-10
"""Relative error of the energy's gradient against automatic differentiation."""
ENERGY_ASCENT = 1e-9
"""Relative error of the energy where an ascent stops."""
EQUATION_21 = 1e-10
"""Relative error of the energy of eq. 21 against the sum over all pairs."""
RECONSTRUCTED, NOT_RECONSTRUCTED = 1e-18, 1e-4
"""Squared residual of a reconstructed target, at most, and of a target that lacks a pair of nodes, at least."""

DRIFT_SIGMAS = 3.0
"""Standard errors by which n/(M ln M) must grow with M."""

MEMORY_VALUE, MEMORY_PLACE, CENTRED_ENERGY = 1e-7, 1e-5, 1e-20
"""Memorised optimum: error of its value, error of its weights, and the largest energy with centred labels."""

INTERACTION_IDENTITY = 1e-9
"""Relative error of identities with a K×K inverse in float64."""
MODULATED_ASCENT, NEW_NODE_DRIVE = 1e-5, 1e-6
"""Relative error of the energies of ascents, and 1 − cosine of the gradient of a new node."""

MUON_IDENTITY = 1e-10
"""Relative error of identities with a singular value decomposition in float64."""
MUON_SIGMAS = 4.5
"""Standard errors by which a mean over draws may deviate."""

DEEP_COSINE = 0.01
"""How far 1 − cos of a wide layer may be from the limit. The error falls like n / (nodes × draws)."""

OFF_DIAGONAL = 0.085
"""Largest off-diagonal entry relative to the diagonal: what rounds to the caption's 8 %."""
PURITY_GAP, ENERGY_GAP, ACCURACY_GAP, BEST_ACCURACY_GAP = 0.05, 0.01, 0.05, 0.1
"""Figure 5: differences between two rates in purity, energy (relative), test accuracy and best test accuracy."""
MUON_MARGIN: dict[Scale, float] = {"quick": 0.05, "paper": 0.0}
"""Share by which Muon's test loss must be below Adam's. Rounding moves the mean of the two quick seeds by 3 %."""
LEARNED_LOSS = 0.7
"""Test loss, relative to the zero network, below which a network has learned part of the table."""
GENERALISED, PURITY_OVER_RANDOM = 0.9, 1.5
"""Test accuracy that counts as generalising, and purity of the lowest features relative to random nodes."""
