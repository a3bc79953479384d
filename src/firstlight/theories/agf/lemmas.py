"""The equations and lemmas of the AGF paper, one function each.

| statement | names |
|---|---|
| utility phase: directions and norms of dormant neurons (eq. 2, 23) | `dynamics`, `growth_and_turn`, `climb`, `Climb` |
| when a dormant neuron reaches norm one (eq. 3, 15) | `threshold`, `norm_at` |
| lower bounds on jump times (eq. 7, 9, 17, 58) | `jump_bound` |
| speed of alignment (eq. 21, 22) | `alignment_speed` |
| degree of the utility, found by scaling | `detect_kappa` |
| cost phase of the active neurons | `descend`, `Descent` |
| diagonal networks (Theorem C.4, Corollary C.5, eq. 5) | `accumulated`, `time_to_jump`, `cost_step` |
| hyperbolic functions that do not overflow | `acosh_exp`, `log_cosh` |
| limit of small initialisation, Pesme and Flammarion (Algorithm 2) | `pesme_flammarion` |
| modular addition: utility and its maxima (eq. 8, 63, 93, Theorem 5.1) | `utility`, `utility_at`, `maximiser` |
| modular addition: levels (eq. 9) | `fourier_levels`, `Levels` |
| modular addition: aligned neurons (eq. 71, 80, Theorem F.7) | `aligned_cost`, `aligned_weights`, `six_neurons` |
| any finite group: the utility of each component | `IrrepUtility`, the items of `Template.order` |
| staircases from closed forms, and measured jump times | `from_levels`, `crossing` |

>>> from firstlight.theories import agf
>>> agf.lemmas.threshold(0.01, kappa=3)
99.0
"""

from firstlight.theories.agf._active import Descent, descend
from firstlight.theories.agf._diagonal import (
    accumulated,
    acosh_exp,
    cost_step,
    log_cosh,
    pesme_flammarion,
    time_to_jump,
)
from firstlight.theories.agf._dormant import Climb, climb, dynamics, growth_and_turn
from firstlight.theories.agf._growth import alignment_speed, jump_bound, norm_at, threshold
from firstlight.theories.agf._modular import (
    Levels,
    aligned_cost,
    aligned_weights,
    fourier_levels,
    maximiser,
    six_neurons,
    utility,
    utility_at,
)
from firstlight.theories.agf._problem import detect_kappa
from firstlight.theories.agf._staircase import crossing, from_levels
from firstlight.theories.agf._templates import IrrepUtility

__all__ = [
    "Climb",
    "Descent",
    "IrrepUtility",
    "Levels",
    "accumulated",
    "acosh_exp",
    "aligned_cost",
    "aligned_weights",
    "alignment_speed",
    "climb",
    "cost_step",
    "crossing",
    "descend",
    "detect_kappa",
    "dynamics",
    "fourier_levels",
    "from_levels",
    "growth_and_turn",
    "jump_bound",
    "log_cosh",
    "maximiser",
    "norm_at",
    "pesme_flammarion",
    "six_neurons",
    "threshold",
    "time_to_jump",
    "utility",
    "utility_at",
]
