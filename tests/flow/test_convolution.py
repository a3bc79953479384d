"""Convolutions over Abelian groups whose elements come in no particular order, against loops over pairs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight.flow.population._convolution import convolve, correlate_left, correlate_right
from firstlight.groups import from_table, parse
from tests.tolerances import rounding


@pytest.mark.parametrize("name", ["Z7", "Z2xZ6", "Z3xZ3"])
def test_the_order_of_the_elements_does_not_matter(name):
    """In another order than that of the characters the Hartley transform is not symmetric."""
    rng = np.random.default_rng(0)
    table = parse(name).table
    order = rng.permutation(len(table))
    moved = np.empty_like(table)
    moved[np.ix_(order, order)] = order[table]
    group = from_table(moved)
    a, b, u = rng.standard_normal((3, group.order, 2))
    convolved, left, right = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    for g in range(group.order):
        for h in range(group.order):
            convolved[moved[g, h]] += a[g] * b[h]
            left[g] += b[h] * u[moved[g, h]]
            right[h] += a[g] * u[moved[g, h]]
    allowed = rounding(np.abs([a, b, u]).max() ** 2, group.order**2)
    with jax.enable_x64(True):
        a, b, u = jnp.asarray(a), jnp.asarray(b), jnp.asarray(u)
        np.testing.assert_allclose(convolve(group, a, b), convolved, rtol=0, atol=allowed)
        np.testing.assert_allclose(correlate_left(group, b, u), left, rtol=0, atol=allowed)
        np.testing.assert_allclose(correlate_right(group, a, u), right, rtol=0, atol=allowed)
