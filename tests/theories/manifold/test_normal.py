"""Tangent spaces: rank is lost relative to the largest singular value, whatever the units of the constraints."""

import jax.numpy as jnp
import numpy as np
import pytest

from firstlight.theories import manifold


def tangent(scales):
    """Constraints s_i(θ_i − 1) = 0 on one parameter more: J = diag(s), and the last direction is tangential."""
    s = np.asarray(scales)
    zero_set = manifold.ZeroLossSet(lambda w: jnp.asarray(s) * (w[:-1] - 1.0), np.ones(len(s) + 1))
    return manifold.Tangent(zero_set, np.ones(len(s) + 1), "dense")


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_units_of_the_constraints_do_not_decide_the_rank(unit):
    regular, singular = tangent(unit * np.array([1.0, 1e-3])), tangent(unit * np.array([1.0, 1e-12]))
    v = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(regular.tangential(v), [0.0, 0.0, 3.0], rtol=0, atol=1e-12)
    with pytest.raises(manifold.AssumptionFails, match="the Jacobian has rank 1 for 2 constraints"):
        singular.tangential(v)
