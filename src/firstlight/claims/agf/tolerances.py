"""Tolerances of the AGF checks; the statements publish the same numbers."""

SAME_TRAJECTORY = 1e-6
"""How far two solved trajectories of the same equation may be apart."""
ALIGNMENT_SHORTER, ALIGNMENT_SPREAD, ALIGNMENT_SETTLED, ALIGNMENT_RATE = 0.3, 1e-3, 0.02, 1e-4
"""Alignment as α falls. For κ = 2: the last time over the first, and the spread of its product with γ. For κ = 3: the
last change of the time, and γ − 1."""

UTILITY_SUM, MAXIMUM_HEIGHT, MAXIMUM_PLACE = 1e-10, 1e-5, 1e-3
"""Utility on a grid of the circle: two sums over samples, the height of the maximum and its place."""
CONSERVED, CONSERVED_SQUARE = 1e-8, 1e-9
"""Drift of the quantity of size 1 that gradient flow conserves, and of its square over ‖θ‖⁴."""

ATTENTION_JUMP = 1e-6
"""Relative error of the time of a jump. The utility phase is solved to 1e-8 per step."""
ATTENTION_UTILITY, ATTENTION_ASCENT = 1e-9, 1e-4
"""Relative errors of a utility in closed form, and of the utility that ascents reach."""
ATTENTION_PLATEAU, ATTENTION_LEVEL = 1e-3, 1e-5
"""How far plateaus of gradient flow may be from AGF's levels, and AGF's levels from the closed form."""

MODULAR_ROUNDING = 1e-9
"""Relative error of closed forms against sums over all pairs."""
