"""The loss against its definition written with explicit projection matrices."""

import jax.numpy as jnp
import numpy as np
import pytest

from firstlight.flow import Loss, accuracy, objective, target_matrix
from tests.tolerances import rounding


def _projector(size: int) -> np.ndarray:
    return np.eye(size) - np.full((size, size), 1 / size)


@pytest.mark.parametrize("projection", ["samples", "outputs", "none"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_mse_is_the_projected_squared_residual(projection: str, reduction: str) -> None:
    rng = np.random.default_rng(0)
    o, y = rng.normal(size=(12, 5)), rng.integers(0, 5, 12)
    residual = o - np.eye(5)[y]
    if projection == "samples":
        residual = _projector(12) @ residual
    if projection == "outputs":
        residual = residual @ _projector(5)
    expected = 0.5 * (residual**2).sum() / (12 if reduction == "mean" else 1)
    loss = Loss(projection=projection, reduction=reduction, factor=0.5)
    got = objective(jnp.asarray(o, jnp.float32), jnp.asarray(y), loss)
    np.testing.assert_allclose(got, expected, rtol=rounding(1, residual.size, np.float32))


def test_cross_entropy_matches_the_direct_formula_and_ignores_shifts() -> None:
    rng = np.random.default_rng(1)
    o, y = rng.normal(size=(9, 4)), rng.integers(0, 4, 9)
    expected = np.mean(np.log(np.exp(o).sum(1)) - o[np.arange(9), y])
    loss = Loss(kind="cross_entropy", projection="none")
    for shift in (0.0, 3.0):
        error = rounding(np.abs(o + shift).max(), o.size, np.float32)
        np.testing.assert_allclose(
            objective(jnp.asarray(o + shift), jnp.asarray(y), loss), expected, rtol=0, atol=error
        )


def test_cross_entropy_refuses_what_it_has_no_meaning_for() -> None:
    o, y = jnp.zeros((3, 2)), jnp.zeros(3, int)
    with pytest.raises(ValueError, match="no projection over samples"):
        objective(o, y, Loss(kind="cross_entropy", projection="samples"))
    with pytest.raises(ValueError, match="needs integer classes"):
        objective(o, jnp.zeros((3, 2)), Loss(kind="cross_entropy"))


def test_targets_become_rows_and_accuracy_counts_rows() -> None:
    np.testing.assert_array_equal(target_matrix(jnp.array([1, 0]), 2), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(target_matrix(jnp.array([[0.5], [2.0]]), 1), [[0.5], [2.0]])
    assert float(accuracy(jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.array([1, 1]))) == 0.5
