"""Whether a run has come to rest away from the balance that the theory asks for."""

import numpy as np

from firstlight.records import RunRecord, TwoLayerModel
from firstlight.theories.manifold._rates import step_rates

STILL = 0.01
"""Largest change of the first layer's share over the second half of a run at rest, in units of its distance to balance.

A run that moves on at this pace would need a hundred times as long again.
"""

FELT = 1e4
"""Least pull of the decay on a hidden unit, in units of Adam's epsilon, at which Adam's steps have their full size.

The weights of a unit are smaller than the unit: a hundredth of it still pulls with a hundred epsilons."""

LEFT = 1e-6
"""Least squared norm that is left, as a share of the first: where decay has taken all weights, shares mean nothing."""


def rests_away(record: RunRecord, shares: np.ndarray, least: float) -> bool:
    """Return whether the share of the first layer stands still away from `least`, though decay could have moved it.

    **Arguments:**

    - `record`: the run.
    - `shares`: the share of the first layer at each recorded step.
    - `least`: the share where the norm is least.
    """
    steps, norm = np.asarray(record.table.step), np.asarray(record.table["manifold.norm"], float)
    late = np.flatnonzero(2 * steps >= steps[-1])
    if len(late) < 3 or not norm[-1] > LEFT * norm[0]:
        return False
    still = float(np.ptp(shares[late])) <= STILL * abs(float(shares[-1]) - least)
    return still and decay_could_move(record, int(steps[late[0]]), int(steps[-1]))


def decay_could_move(record: RunRecord, begin: int, end: int) -> bool:
    """Return whether weight decay alone could move a hidden unit by its own length from step `begin` to step `end`.

    Gradient descent moves a unit θ by rate·wd·θ each step. Adam moves each of its weights by the rate, whatever the
    size of the gradient, if that is far above epsilon. Of other optimizers nothing is said.
    """
    optimizer, model = record.spec.optimizer, record.spec.model
    if not isinstance(model, TwoLayerModel):
        return False
    reach = float(step_rates(record.spec, begin, end).sum()) * min([1.0, *optimizer.layer_rates.values()])
    if optimizer.name == "sgd":
        return reach * optimizer.weight_decay >= 1
    unit = float(np.sqrt(record.table["manifold.norm"][-1] / model.width))
    is_felt = optimizer.weight_decay * unit >= FELT * optimizer.epsilon
    return optimizer.name in ("adam", "adamw") and is_felt and reach >= unit
