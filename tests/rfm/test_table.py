"""Scaling of columns against NumPy on rows that are really repeated."""

import numpy as np
import pytest

from firstlight.rfm._tables.table import Scaling
from tests.tolerances import rounding


@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("spread", [True, False])
def test_weights_count_rows(shift, spread):
    A = np.random.default_rng(0).standard_normal((6, 3)) * [1e6, 1.0, 1e-6] + [0.0, 5.0, 0.0]
    times = np.array([1, 3, 0, 2, 1, 4])
    repeated = np.repeat(A, times, axis=0)
    scaling = Scaling.of(A, times.astype(float), shift=shift, spread=spread)
    mean, deviation = repeated.mean(axis=0), repeated.std(axis=0)
    largest = np.abs(A).max(axis=0)
    np.testing.assert_array_less(np.abs(scaling.shift - (mean if shift else 0)), rounding(1, 11) * largest)
    np.testing.assert_array_less(np.abs(scaling.spread - (deviation if spread else 1)), rounding(1, 11) * largest)
    assert (np.abs(scaling.undo(scaling.apply(A)) - A) <= rounding(1) * largest).all()
