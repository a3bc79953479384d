"""Projection of the inputs: the first layer needs only XW, so models accept the map W ↦ XW in place of X."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Num

Projection = Callable[[Array], Array]
"""A map W (d, K) ↦ XW (n, K); the inputs of a task offer it as `inputs.project`."""

Matrix = Num[Array | np.ndarray, "*n _"]


def preactivations(inputs: Projection | Matrix, W: Num[Array, "d K"]) -> Num[Array, "*n K"]:
    """Return XW, where `inputs` is either X (n, d) or the map W ↦ XW.

    >>> import jax.numpy as jnp
    >>> W = jnp.arange(6.0).reshape(3, 2)
    >>> preactivations(jnp.eye(3), W).shape, preactivations(lambda W: W[:1], W).shape
    ((3, 2), (1, 2))
    """
    if callable(inputs):
        return inputs(W)
    X = jnp.asarray(inputs)
    if X.ndim == 0 or X.shape[-1] != W.shape[0]:
        raise ValueError(
            f"inputs must have {W.shape[0]} columns, one per row of the first-layer weights {W.shape}, "
            f"got shape {X.shape}"
        )
    return X @ W
