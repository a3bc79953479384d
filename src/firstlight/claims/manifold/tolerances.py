"""Tolerances of the checks on the geometry of grokking; the statements publish the same numbers."""

SOLVED = 1e-8
"""How far a solved trajectory may be from its closed form."""
FIRST_ORDER = 0.05
"""Relative difference, at two λ, of the distances from the constrained flow over λ: the next order in λ."""
END_OF_PLANE, END_OF_CROSS = 1e-4, 1e-3
"""How far the runs may be from their end points, on the plane and on the cross."""

DISTANCE_LAW = 0.05
"""Relative error of the distance against λ‖(JᵀJ)⁺θ‖ at the smallest λ: the next order in λ."""
ANGLE_RATIO = 0.15
"""How far the ratio of angle and distance may vary over three decades of distance."""
LOSS_DECREASE = 1e-9
"""Largest increase of 𝓛_λ in one step of the solver, relative to 𝓛_λ."""
TANGENTIAL_SHARE, SAME_DISTANCE = 1e-5, 1e-8
"""Tangential share of a displacement, and relative difference of two distances, which has the square of the share."""

ISOLATED_IDENTITY = 1e-9
"""Relative error of identities in float64, of systems with condition numbers up to 1e5."""
TWO_RATE_ORDER = 0.15
"""How far the order of convergence may be from 1 over the largest decade of rates."""
SAME_NORM = 0.05
"""Relative difference of the norms that training with L2 decay and the isolated dynamics reach."""

HALF = 0.5
"""A measure has become small when less than half of its value for random embeddings is left."""
