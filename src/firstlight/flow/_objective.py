"""The loss of a network's outputs, with every convention an argument."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from firstlight.records._spec import Loss


def target_matrix(
    targets: Array | np.ndarray, outputs: int, dtype: jnp.dtype | type = jnp.float32
) -> Float[Array, "n m"]:
    """Targets as rows: one-hot for classes (n,), unchanged for regression (n, m)."""
    targets = jnp.asarray(targets)
    return jax.nn.one_hot(targets, outputs, dtype=dtype) if targets.ndim == 1 else targets.astype(dtype)


def objective(outputs: Float[Array, "n m"], targets: Array | np.ndarray, loss: Loss) -> Float[Array, ""]:
    r"""The loss of outputs o against targets y.

    $$\ell = c \sum_i \lVert [P(o - y)]_i \rVert^2 \;(\text{or its mean over } i),$$

    where P removes the mean over samples (Li₂, eq. 1), over outputs (CoGO, eq. 1; Li₂'s released code) or
    nothing. Cross-entropy is −log softmax(o)_y; a shift of all outputs leaves it alone, so `projection="outputs"`
    changes nothing there.

    **Arguments:** `outputs` (n, m), `targets` (n,) classes or (n, m) values, `loss` the conventions.

    >>> import jax.numpy as jnp
    >>> from firstlight.records._spec import Loss
    >>> float(objective(jnp.zeros((4, 2)), jnp.array([0, 1, 0, 1]), Loss(projection="outputs")))
    0.5
    """
    targets = jnp.asarray(targets)
    if loss.kind == "cross_entropy":
        per_sample = _cross_entropy(outputs, targets, loss)
    else:
        residual = outputs - target_matrix(targets, outputs.shape[1], outputs.dtype)
        if loss.projection != "none":
            axis = 0 if loss.projection == "samples" else 1
            residual = residual - residual.mean(axis, keepdims=True)
        per_sample = jnp.sum(residual**2, axis=1)
    total = per_sample.mean() if loss.reduction == "mean" else per_sample.sum()
    return loss.factor * total


def _cross_entropy(outputs: Array, targets: Array, loss: Loss) -> Array:
    if loss.projection == "samples":
        raise ValueError(
            "cross_entropy has no projection over samples; "
            "got projection='samples', use projection='none' or kind='mse'"
        )
    if targets.ndim != 1:
        raise ValueError(f"cross_entropy needs integer classes of shape (n,), got targets of shape {targets.shape}")
    log_p = jax.nn.log_softmax(outputs, axis=1)
    return -jnp.take_along_axis(log_p, targets[:, None], axis=1)[:, 0]


def accuracy(outputs: Float[Array, "n m"], targets: Int[Array, "n"]) -> Float[Array, ""]:
    """The fraction of rows whose largest output is the target; NaN when there are no rows."""
    return jnp.mean(jnp.argmax(outputs, axis=1) == targets, dtype=outputs.dtype)
