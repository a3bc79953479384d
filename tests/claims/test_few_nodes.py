"""The losses of Li₂'s Figure 6 are relative to those of zero outputs, whatever the reduction of the loss."""

import numpy as np
import pytest

from firstlight import runs
from firstlight.claims.li2.checks.figures import _zero_loss
from firstlight.claims.li2.checks.printed import LOSS
from firstlight.claims.li2.checks.training import spec


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_of_zero_outputs_is_half_the_spread_of_the_one_hot_targets(seed):
    """With the mean over n rows removed, ½‖P₁⊥Y‖² = ½(n − Σ_c n_c²/n), n_c the rows of class c."""
    run = spec("Z7", 0.6, 8, 1, {}, seed, loss=LOSS)
    split = runs.resolve(run).lane.split
    counts = np.bincount(split.task.targets[split.test])
    n = counts.sum()
    law = (n - np.sum(counts**2) / n) / 2
    assert _zero_loss(run) == pytest.approx(law, rel=64 * 2.0**-23)
    mean = spec("Z7", 0.6, 8, 1, {}, seed, loss=LOSS | {"reduction": "mean"})
    assert _zero_loss(mean) == pytest.approx(law / n, rel=64 * 2.0**-23)
