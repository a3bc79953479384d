"""Gathered and dense inputs: the same matrix, the same products, inside and outside JAX transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.tasks import DenseInputs, IndexInputs, Inputs
from tests.tolerances import rounding


@st.composite
def inputs(draw) -> Inputs:
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k, size = draw(st.sampled_from([(0, 2, 3), (4, 1, 3), (4, 2, 5), (4, 3, 5)]))
    rows = random.integers(0, size, (n, k))
    match draw(st.sampled_from(["onehot", "table", "dense"])):
        case "onehot":
            return IndexInputs(rows, size)
        case "table":
            return IndexInputs(rows, size, random.normal(size=(size, 4)))
        case _:
            return DenseInputs(random.normal(size=(n, 4)))


def by_definition(X: Inputs) -> np.ndarray:
    if isinstance(X, DenseInputs):
        return X.values
    table = np.eye(X.size) if X.table is None else X.table
    return np.array([sum(table[r] for r in row) for row in X.rows]).reshape(len(X), table.shape[1])


@given(inputs())
def test_projection_by_gather_is_the_dense_product(X: Inputs):
    dense = by_definition(X)
    largest = np.abs(dense).max(initial=1)
    np.testing.assert_allclose(X.dense(), dense, rtol=0, atol=rounding(largest))
    assert (len(X), X.dim) == dense.shape
    W = np.random.default_rng(0).normal(size=(X.dim, 3))
    error = rounding(largest * np.abs(W + 1j).max(), X.dim)
    with jax.enable_x64(True):
        for weights in (W, W[:, 0], W + 1j):
            np.testing.assert_allclose(X.project(weights), dense @ weights, rtol=0, atol=error)
    if len(X):
        assert np.array_equal(X.take([2, 0, 2]).dense(), X.dense()[[2, 0, 2]])


@pytest.mark.parametrize("kind", ["onehot", "table", "dense"])
def test_jit_vmap_and_gradient_with_traced_inputs(kind: str):
    random = np.random.default_rng(0)
    make = {
        "onehot": lambda: IndexInputs(random.integers(0, 5, (6, 2)), 5),
        "table": lambda: IndexInputs(random.integers(0, 7, (6, 2)), 7, random.normal(size=(7, 5))),
        "dense": lambda: DenseInputs(random.normal(size=(6, 5))),
    }[kind]
    lanes, W = [make() for _ in range(3)], jnp.asarray(random.normal(size=(5, 4)), jnp.float32)
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *lanes)
    picked = jnp.asarray([4, 1])

    @jax.jit
    @jax.vmap
    def value_and_gradient(X: Inputs) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(lambda W: jnp.sum(X.take(picked).project(W) ** 2))(W)

    values, gradients = value_and_gradient(batch)
    for lane, X in enumerate(lanes):
        x = X.dense()[[4, 1]]
        hidden = x @ W
        terms = np.abs(x) @ np.abs(W)  # what the sums over the inputs may cancel
        error = rounding((terms**2).max(), hidden.size * x.shape[1], np.float32)
        np.testing.assert_allclose(values[lane], np.sum(hidden**2), rtol=0, atol=error)
        error = rounding(2 * np.abs(x).max() * terms.max(), x.size, np.float32)
        np.testing.assert_allclose(gradients[lane], 2 * x.T @ hidden, rtol=0, atol=error)


def test_projection_keeps_the_dtype_of_the_weights():
    X = IndexInputs(np.array([[0, 1]]), 2, np.eye(2))
    for dtype in (jnp.float32, jnp.bfloat16):
        assert X.project(jnp.ones((2, 3), dtype)).dtype == dtype
        assert DenseInputs(np.eye(2)).project(jnp.ones((2, 3), dtype)).dtype == dtype


def test_arrays_are_copied_and_cannot_be_written():
    rows, values = np.array([[0, 1]]), np.eye(2)
    X, D = IndexInputs(rows, 2), DenseInputs(values)
    rows[0, 0], values[0, 0] = 1, 7
    assert X.rows[0, 0] == 0
    assert X.rows.dtype == np.int32
    assert D.values[0, 0] == 1
    for array in (X.rows, D.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IndexInputs(np.array([[0, 3]]), 3), r"rows must lie in 0…2, got 0 to 3"),
        (lambda: IndexInputs(np.array([[-1, 0]]), 3), r"got -1 to 0"),
        (lambda: IndexInputs(np.array([[0.5]]), 3), r"integers of shape \(n, k\), k > 0, got float64"),
        (lambda: IndexInputs(np.array([0, 1]), 3), r"got int64 of shape \(2,\)"),
        (lambda: IndexInputs(np.array([[0]]), 3, np.eye(2)), r"table must have shape \(3, D\).*\(2, 2\)"),
        (
            lambda: IndexInputs(np.array([[0]]), 3).project(np.eye(2)),
            r"W must have 3 rows.*got shape \(2, 2\)",
        ),
        (lambda: DenseInputs(np.ones(3)), r"shape \(n, d\), got \(3,\)"),
        (lambda: DenseInputs(np.ones((3, 2))).project(np.eye(3)), r"W must have 2 rows"),
    ],
)
def test_wrong_inputs_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
