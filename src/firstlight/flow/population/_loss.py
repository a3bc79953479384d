"""The loss of a two-layer quadratic network over all pairs of a finite group, and its gradient."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from firstlight.flow.population._anova import Anova, anova
from firstlight.flow.population._convolution import convolve, correlate_left, correlate_right
from firstlight.flow.population._interaction import interaction
from firstlight.groups import Group
from firstlight.records import Loss


class _Forward(NamedTuple):
    """Intermediate results shared by the value and the gradient."""

    parts: Anova
    U: Float[Array, "K M"]
    R: Float[Array, "twoM M"]
    pulled: tuple[Float[Array, "M K"], Float[Array, "M K"], Float[Array, "K M"]]
    t: Float[Array, "M K"]
    bias: Float[Array, " M"]
    scale: float


@partial(jax.jit, static_argnames=("group", "loss"))
def population_loss(
    W: Float[Array, "twoM K"],
    V: Float[Array, "K M"],
    group: Group,
    polynomial: Sequence[ArrayLike] = (0.0, 0.0, 1.0),
    loss: Loss = Loss(),  # noqa: B008  frozen
) -> Float[Array, ""]:
    r"""Return the loss over all M² pairs of a group, from K×K Gram matrices.

    $$\sum_{g_1,g_2} \lVert P(o - e_{g_1g_2})\rVert^2 = M\lVert \alpha U\rVert^2 + M\lVert \beta U\rVert^2
      + 4c_2^2 \langle G_a \circ G_b, G_U\rangle - 4 c_2 \langle U^\top, a * b\rangle
      + \lVert M\mu - \epsilon\rVert^2 + M^2 - M,$$

    where a, b are the centred embeddings, α, β the main effects and m the mean of the features, G the K×K
    Gram matrices and μ = mU. With `projection="outputs"`, U = V − mean over classes and ε = 0; with `"none"`,
    U = V and ε = 1; with `"samples"` (Li₂), U = V and the term in μ is absent. The group enters only
    through the convolution a ∗ b. The cost is O(K²M + KM²) instead of O(KM³).

    This generalises CoGO (eq. 1) to any finite group, any polynomial of degree ≤ 2 and uncentred weights. The
    terms cancel: the error is about 1e-15 (float64) or 1e-6 (float32) of M² − M, not of the result.

    **Arguments:**

    - `W`: (2M, K), the two embedding tables stacked.
    - `V`: (K, M), the output weights.
    - `group`: of order M, static under `jax.jit`.
    - `polynomial`: (c₀, c₁, c₂) with σ(x) = c₀ + c₁x + c₂x².
    - `loss`: projection, reduction over the M² pairs, and factor.

    >>> import jax.numpy as jnp
    >>> from firstlight.groups import symmetric
    >>> float(population_loss(jnp.zeros((12, 4)), jnp.zeros((4, 6)), symmetric(3)))  # 1 − 1/M
    0.83333...
    """
    with jax.default_matmul_precision("highest"):
        return _value(_forward(W, V, group, polynomial, loss))


@partial(jax.jit, static_argnames=("group", "loss"))
def population_value_and_grad(
    W: Float[Array, "twoM K"],
    V: Float[Array, "K M"],
    group: Group,
    polynomial: Sequence[ArrayLike] = (0.0, 0.0, 1.0),
    loss: Loss = Loss(),  # noqa: B008  frozen
) -> tuple[Float[Array, ""], tuple[Float[Array, "twoM K"], Float[Array, "K M"]]]:
    """Return `population_loss` and its gradient (dW, dV), in six products of K²M and twelve of KM².

    The arguments are those of `population_loss`. A program is compiled per group, loss and shape; `jax.vmap` over
    W and V works.

    >>> import jax.numpy as jnp
    >>> from firstlight.groups import cyclic
    >>> value, (dW, dV) = population_value_and_grad(jnp.ones((10, 3)), jnp.zeros((3, 5)), cyclic(5))
    >>> round(float(value), 6), dW.shape, dV.shape
    (0.8, (10, 3), (3, 5))
    """
    with jax.default_matmul_precision("highest"):
        forward = _forward(W, V, group, polynomial, loss)
        return _value(forward), _gradient(forward, group, loss)


def _forward(
    W: Float[Array, "twoM K"],
    V: Float[Array, "K M"],
    group: Group,
    polynomial: Sequence[ArrayLike],
    loss: Loss,
) -> _Forward:
    M = group.order
    if loss.kind != "mse":
        raise ValueError(f"the Gram form needs the mse loss, got kind={loss.kind!r}; use the dense loss")
    if W.shape[0] != 2 * M or V.shape != (W.shape[1], M):
        raise ValueError(
            f"a group of order {M} needs W of shape ({2 * M}, K) and V of shape (K, {M}), "
            f"got {W.shape} and {V.shape}; build the model with inputs={2 * M}, outputs={M}"
        )
    parts = anova(W, polynomial)
    a, b = parts.x
    U = V - V.mean(1, keepdims=True) if loss.projection == "outputs" else V
    bias = jnp.zeros(M, W.dtype)
    if loss.projection != "samples":
        bias = M * (parts.mean @ U) - (1.0 if loss.projection == "none" else 0.0)
    return _Forward(
        parts=parts,
        U=U,
        R=parts.main.reshape(2 * M, -1) @ U,
        pulled=interaction(a, b, U),
        t=convolve(group, a, b),
        bias=bias,
        scale=loss.factor / (M**2 if loss.reduction == "mean" else 1),
    )


def _value(f: _Forward) -> Float[Array, ""]:
    M, c2 = f.U.shape[1], f.parts.c2
    quadratic = M * jnp.sum(f.R**2) + 4 * c2**2 * jnp.sum(f.U * f.pulled[2]) + jnp.sum(f.bias**2)
    return f.scale * (quadratic - 4 * c2 * jnp.sum(f.U.T * f.t) + (M**2 - M))


def _gradient(f: _Forward, group: Group, loss: Loss) -> tuple[Float[Array, "twoM K"], Float[Array, "K M"]]:
    M, K, U = group.order, f.U.shape[0], f.U
    mean, main, x, slope, c2 = f.parts
    a, b = x
    u = U.T
    # R, the Gram matrices and t are centred over g like main and x, so the gradient needs no projection.
    d_main = 2 * M * (f.R @ u).reshape(2, M, K)
    d_x = 8 * c2**2 * jnp.stack(f.pulled[:2])
    d_x -= 4 * c2 * jnp.stack([correlate_left(group, b, u), correlate_right(group, a, u)])
    d_U = 2 * M * (main.reshape(2 * M, K).T @ f.R) + 8 * c2**2 * f.pulled[2] - 4 * c2 * f.t.T
    d_mean = jnp.zeros(K, U.dtype)
    if loss.projection != "samples":
        d_mu = 2 * M * f.bias
        d_mean, d_U = U @ d_mu, d_U + jnp.outer(mean, d_mu)
    # z = ā + b̄ changes both main effects, so the two tables are exchanged.
    through_z = 2 * c2 * jnp.mean(d_main * x, axis=1, keepdims=True)[::-1]
    d_X = (d_main + d_mean / M) * (slope + 2 * c2 * x) + through_z + d_x
    d_V = d_U - d_U.mean(1, keepdims=True) if loss.projection == "outputs" else d_U
    return f.scale * d_X.reshape(2 * M, K), f.scale * d_V
