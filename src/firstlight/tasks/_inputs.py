"""Inputs X in two forms, gathered or dense; a model needs only the map W ↦ XW.

Both forms are JAX pytrees: their arrays may be traced, batched over seeds and moved to a device.
"""

import operator
from collections.abc import Sequence
from functools import reduce

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Inexact, Int

Indices = Sequence[int] | Array | np.ndarray
Weights = Inexact[Array | np.ndarray, "_ *K"]


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a read-only copy, so that a checked value cannot change."""
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


def _rows(rows: ArrayLike) -> Array | np.ndarray:
    if isinstance(rows, jax.Array):
        return rows
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"rows must be integers of shape (n, k), k > 0, got {rows.dtype} of shape {rows.shape}")
    return frozen(rows.astype(np.int32))


def _matrix(values: ArrayLike) -> Array | np.ndarray:
    if isinstance(values, jax.Array):
        return values
    values = np.asarray(values)
    return frozen(values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64))


def _table(values: ArrayLike | None) -> Array | np.ndarray | None:
    return None if values is None else _matrix(values)


def _check_columns(dim: int, W: Weights) -> None:
    if W.shape[0] != dim:
        raise ValueError(f"W must have {dim} rows, one per input dimension, got shape {W.shape}")


def _pick(array: Array | np.ndarray, indices: Indices) -> Array | np.ndarray:
    # A NumPy array cannot be indexed by a traced value.
    return jnp.asarray(array)[indices] if isinstance(indices, jax.Array) else array[np.asarray(indices)]


class IndexInputs(eqx.Module):
    """X = Σ_j onehot(rows[:, j]), or Σ_j table[rows[:, j]] with a table, without forming X.

    **Attributes:**

    - `rows`: (n, k) indices into the `size` rows of the identity or of the table.
    - `size`: number of rows of the identity or of the table.
    - `table`: (size, D), the vector of each index; None for one-hot vectors.

    >>> import numpy as np
    >>> X = IndexInputs(rows=np.array([[0, 2], [1, 1]]), size=3)
    >>> X.dense()
    array([[1., 0., 1.],
           [0., 2., 0.]])
    >>> X.project(np.array([[1.0], [10.0], [100.0]])).tolist()
    [[101.0], [20.0]]
    """

    rows: Int[Array | np.ndarray, "n k"] = eqx.field(converter=_rows)
    size: int = eqx.field(static=True)
    table: Float[Array | np.ndarray, "size D"] | None = eqx.field(converter=_table, default=None)

    def __check_init__(self) -> None:
        if self.table is not None and (self.table.ndim != 2 or self.table.shape[0] != self.size):
            raise ValueError(f"table must have shape ({self.size}, D), one row per index, got {self.table.shape}")
        rows = self.rows
        if isinstance(rows, np.ndarray) and rows.size and not 0 <= rows.min() <= rows.max() < self.size:
            raise ValueError(f"rows must lie in 0…{self.size - 1}, got {rows.min()} to {rows.max()}; is size right?")

    def __len__(self) -> int:
        return self.rows.shape[0]

    @property
    def dim(self) -> int:
        """The number of columns of X."""
        return self.size if self.table is None else self.table.shape[1]

    def dense(self) -> Float[np.ndarray, "n d"]:
        """Return X as a matrix."""
        rows = np.asarray(self.rows)
        table = np.eye(self.size) if self.table is None else np.asarray(self.table)
        X = np.zeros((len(rows), self.dim), table.dtype)
        for column in rows.T:
            X += table[column]
        return X

    def take(self, indices: Indices) -> "IndexInputs":
        """Return the inputs of the samples `indices`, which may be traced."""
        return IndexInputs(_pick(self.rows, indices), self.size, self.table)

    def project(self, W: Weights) -> Inexact[Array, "n *K"]:
        """Return XW by gathering rows of W (of table·W), in the dtype of W (d, K)."""
        W = jnp.asarray(W)
        _check_columns(self.dim, W)
        T = W if self.table is None else jnp.asarray(self.table, W.dtype) @ W
        rows = jnp.asarray(self.rows)
        # A gather per factor: a single gather of (n, k, K) is six times slower. Rows were checked at construction.
        gathered = (T.at[rows[:, j]].get(mode="promise_in_bounds") for j in range(rows.shape[1]))
        return reduce(operator.add, gathered)


class DenseInputs(eqx.Module):
    """Inputs stored as a matrix X (n, d).

    >>> import numpy as np
    >>> X = DenseInputs(np.eye(3))
    >>> len(X), X.dim, X.take([0, 2]).project(np.ones((3, 2))).shape
    (3, 3, (2, 2))
    """

    values: Float[Array | np.ndarray, "n d"] = eqx.field(converter=_matrix)

    def __check_init__(self) -> None:
        if self.values.ndim != 2:
            raise ValueError(f"inputs must have shape (n, d), got {self.values.shape}")

    def __len__(self) -> int:
        return self.values.shape[0]

    @property
    def dim(self) -> int:
        """The number of columns of X."""
        return self.values.shape[1]

    def dense(self) -> Float[np.ndarray, "n d"]:
        """Return X as a matrix."""
        return np.asarray(self.values)

    def take(self, indices: Indices) -> "DenseInputs":
        """Return the inputs of the samples `indices`, which may be traced."""
        return DenseInputs(_pick(self.values, indices))

    def project(self, W: Weights) -> Inexact[Array, "n *K"]:
        """Return XW, in the dtype of W (d, K)."""
        W = jnp.asarray(W)
        _check_columns(self.dim, W)
        return jnp.asarray(self.values, W.dtype) @ W


Inputs = IndexInputs | DenseInputs
