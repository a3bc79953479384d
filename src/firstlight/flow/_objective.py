"""The loss of a network's outputs; every convention is an argument."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from firstlight.records import Loss


def target_matrix(
    targets: Array | np.ndarray, outputs: int, dtype: jnp.dtype | type = jnp.float32
) -> Float[Array, "n m"]:
    """Return the targets as rows (n, m): one-hot for classes (n,), unchanged for regression (n, m)."""
    targets = jnp.asarray(targets)
    return jax.nn.one_hot(targets, outputs, dtype=dtype) if targets.ndim == 1 else targets.astype(dtype)


def projected(values: Float[Array, "n m"], projection: str) -> Float[Array, "n m"]:
    """Return P·values: the part that the loss sees of outputs, targets or residuals.

    **Arguments:**

    - `values`: (n, m), a row per sample.
    - `projection`: `"samples"` removes the mean over samples (Li₂, eq. 1), `"outputs"` the mean over outputs
      (CoGO, eq. 1; Li₂'s released code), `"none"` nothing.

    >>> import jax.numpy as jnp
    >>> projected(jnp.array([[1.0, 3.0], [2.0, 6.0]]), "outputs").tolist()
    [[-1.0, 1.0], [-2.0, 2.0]]
    """
    if projection == "none":
        return values
    return values - values.mean(0 if projection == "samples" else 1, keepdims=True)


def objective(outputs: Float[Array, "n m"], targets: Array | np.ndarray, loss: Loss) -> Float[Array, ""]:
    r"""Return the loss of outputs o against targets y.

    $$\ell = c \sum_i \lVert [P(o - y)]_i \rVert^2 \;(\text{or its mean over } i),$$

    with P from `projected`. Cross-entropy is −log softmax(o)_y; it does not depend on a shift of all outputs, so
    `projection="outputs"` changes nothing there.

    **Arguments:**

    - `outputs`: o (n, m).
    - `targets`: y, classes (n,) or values (n, m).
    - `loss`: kind, factor c, projection and reduction.

    >>> import jax.numpy as jnp
    >>> from firstlight.records._spec import Loss
    >>> float(objective(jnp.zeros((4, 2)), jnp.array([0, 1, 0, 1]), Loss(projection="outputs")))
    0.5
    """
    targets = jnp.asarray(targets)
    if loss.kind == "cross_entropy":
        per_sample = _cross_entropy(outputs, targets, loss)
    else:
        residual = projected(outputs - target_matrix(targets, outputs.shape[1], outputs.dtype), loss.projection)
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
    # −log p_y = log(1 + Σ_{c≠y} e^{o_c − o_y}) keeps its digits, and those of its gradient, as p_y approaches 1.
    is_target = targets[:, None] == jnp.arange(outputs.shape[1])
    gaps = outputs - jnp.take_along_axis(outputs, targets[:, None], axis=1)
    smallest = jnp.finfo(outputs.dtype).min  # −∞ would make the gradient of a single class NaN
    return jax.nn.softplus(jax.nn.logsumexp(jnp.where(is_target, smallest, gaps), axis=1))


def accuracy(outputs: Float[Array, "n m"], targets: Int[Array, "n"]) -> Float[Array, ""]:
    """Return the fraction of rows whose largest output is the target; NaN when there are no rows."""
    return jnp.mean(jnp.argmax(outputs, axis=1) == targets, dtype=outputs.dtype)
