"""Alternating gradient flows (AGF): when the loss of a two-layer network drops, to what level, and by which feature.

>>> import numpy as np
>>> from firstlight.theories import agf
>>> problem = agf.network(np.diag([2.0, 1.0]), np.diag([2.0, 1.0]), activation="linear")
>>> theta = problem.initial(width=4, alpha=1e-6)
>>> steps = agf.predict(problem, theta)
>>> steps.levels.round(6)
array([1.25, 0.25, 0.  ])

- A `Problem` holds the cost of the active neurons and the utility of a dormant neuron. `network`, `neurons` and
  `closed_form` build a problem from arrays, from a function of one neuron, or from formulas.
- `InContext`, `Template` and `summands_problem` are solved cases with exact population averages. `predict_diagonal`
  and `LinearNetwork` have closed forms of their own.
- `follow` solves gradient flow from the same initialisation, at any scale down to 10⁻¹⁰⁰.
- `lemmas` holds the single equations and lemmas of the paper.
"""

from firstlight.theories.agf import lemmas
from firstlight.theories.agf._attention import InContext, power_law_covariance
from firstlight.theories.agf._diagonal import diagonal_flow, predict_diagonal
from firstlight.theories.agf._follow import follow
from firstlight.theories.agf._lens import LENSES
from firstlight.theories.agf._linear import LinearNetwork
from firstlight.theories.agf._modular import harmonic_template, summands_problem
from firstlight.theories.agf._predict import predict
from firstlight.theories.agf._problem import Problem, closed_form, network, neurons
from firstlight.theories.agf._staircase import Event, Staircase, StaircaseComparison
from firstlight.theories.agf._templates import Template

__all__ = [
    "LENSES",
    "Event",
    "InContext",
    "LinearNetwork",
    "Problem",
    "Staircase",
    "StaircaseComparison",
    "Template",
    "closed_form",
    "diagonal_flow",
    "follow",
    "harmonic_template",
    "lemmas",
    "network",
    "neurons",
    "power_law_covariance",
    "predict",
    "predict_diagonal",
    "summands_problem",
]
