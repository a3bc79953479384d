"""Alternating gradient flows: when the loss of a two-layer network drops, to what, and which feature does it.

>>> import numpy as np
>>> from firstlight.theories import agf
>>> problem = agf.network(np.diag([2.0, 1.0]), np.diag([2.0, 1.0]), activation="linear")
>>> theta = problem.initial(width=4, alpha=1e-6)
>>> steps = agf.predict(problem, theta)
>>> steps.levels.round(6)
array([1.25, 0.25, 0.  ])

A `Problem` is what the two phases need: the cost of active neurons and the utility of a dormant one. `network`,
`neurons` and `closed_form` make one from arrays, a function of one neuron, or formulas; `InContext` and `Template` are
solved cases with exact population averages, `predict_diagonal` and `LinearNetwork` have closed forms of their own.
`follow` is gradient flow from the same initialisation, in which 10⁻¹⁰⁰ is as good as 10⁻².
"""

from firstlight.theories.agf._active import Descent, descend
from firstlight.theories.agf._attention import InContext, power_law_covariance
from firstlight.theories.agf._diagonal import (
    accumulated,
    acosh_exp,
    cost_step,
    diagonal_flow,
    log_cosh,
    pesme_flammarion,
    predict_diagonal,
    time_to_jump,
)
from firstlight.theories.agf._dormant import Climb, climb, dynamics, growth_and_turn
from firstlight.theories.agf._follow import follow
from firstlight.theories.agf._growth import alignment_speed, jump_bound, norm_at, threshold
from firstlight.theories.agf._lens import LENSES
from firstlight.theories.agf._linear import LinearNetwork
from firstlight.theories.agf._modular import (
    Levels,
    aligned_cost,
    aligned_weights,
    fourier_levels,
    harmonic_template,
    maximiser,
    six_neurons,
    summands_problem,
    utility,
    utility_at,
)
from firstlight.theories.agf._predict import predict
from firstlight.theories.agf._problem import Problem, closed_form, detect_kappa, network, neurons
from firstlight.theories.agf._staircase import Comparison, Event, Staircase, crossing, from_levels
from firstlight.theories.agf._templates import IrrepUtility, Template

__all__ = [
    "LENSES",
    "Climb",
    "Comparison",
    "Descent",
    "Event",
    "InContext",
    "IrrepUtility",
    "Levels",
    "LinearNetwork",
    "Problem",
    "Staircase",
    "Template",
    "accumulated",
    "acosh_exp",
    "aligned_cost",
    "aligned_weights",
    "alignment_speed",
    "climb",
    "closed_form",
    "cost_step",
    "crossing",
    "descend",
    "detect_kappa",
    "diagonal_flow",
    "dynamics",
    "follow",
    "fourier_levels",
    "from_levels",
    "growth_and_turn",
    "harmonic_template",
    "jump_bound",
    "log_cosh",
    "maximiser",
    "network",
    "neurons",
    "norm_at",
    "pesme_flammarion",
    "power_law_covariance",
    "predict",
    "predict_diagonal",
    "six_neurons",
    "summands_problem",
    "threshold",
    "time_to_jump",
    "utility",
    "utility_at",
]
