"""The first layer of a two-layer network alone, with the second layer always optimal for it (Sections 5 and 6)."""

from typing import Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.models import Activation, activation
from firstlight.tasks import Inputs, Split
from firstlight.theories.manifold._assumptions import AssumptionFails, require_full_row_rank
from firstlight.theories.manifold._zero_loss import Times

Weights = Float[Array | np.ndarray, "d K"]


class Isolated(eqx.Module):
    r"""A two-layer network Ŷ = σ(XW)V [+ c] in which only W moves.

    $$\mathcal R(W) = \min_{V, c} \|\sigma(XW)V + c - Y\|^2 + \lambda\|W\|^2 + \lambda\|V\|^2$$

    **Attributes:**

    - `inputs`: X, one-hot or dense, n rows.
    - `Y`: targets (n, M).
    - `activation`: σ, a name or an `Activation`.
    - `lam`: λ ≥ 0; 0 is the zero-loss limit of eqs. 20 and 21, where costs are in units of λ.
    - `bias`: whether the network has an output bias c, without weight decay.

    >>> from firstlight import tasks
    >>> problem = isolate(tasks.group_task("Z5", encoding="summed").split(fraction=0.7), "relu")
    >>> problem.Y.shape, problem.lam
    ((10, 5), 0.0)
    """

    inputs: Inputs
    Y: Float[Array | np.ndarray, "n M"]
    activation: Activation = eqx.field(converter=activation, static=True)
    lam: float = eqx.field(static=True, default=0.0)
    bias: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if not (np.isfinite(self.lam) and self.lam >= 0):
            raise AssumptionFails(
                f"weight decay: λ must be a finite number ≥ 0, got {self.lam}; λ = 0 is the zero-loss limit (eq. 20)"
            )
        if len(self.inputs) != self.Y.shape[0]:
            raise ValueError(f"Y must have one row per input, {len(self.inputs)}, got {self.Y.shape[0]}")

    def require_start(self, W: ArrayLike) -> None:
        """Raise `AssumptionFails` if eq. 20 is not defined at the weights W (d, K)."""
        if self.lam == 0:
            H = np.asarray(self.activation(jnp.asarray(self.inputs.dense() @ np.asarray(W))), np.float64)
            # A bias without penalty removes the mean over samples, and with it one dimension.
            require_full_row_rank(np.linalg.qr(np.eye(len(H)) - 1 / len(H))[0][:, :-1].T @ H if self.bias else H)


def isolate(split: Split, sigma: "str | Activation" = "relu", *, lam: float = 0.0, bias: bool = False) -> Isolated:
    """Return the isolated first layer on the training rows of a split; classes become one-hot rows of Y."""
    targets = np.asarray(split.train_targets)
    Y = np.eye(split.task.outputs, dtype=np.float32)[targets] if targets.ndim == 1 else targets
    return Isolated(split.train_inputs, Y, sigma, lam, bias)  # type: ignore[arg-type]


def _lower_gram(H: Float[Array, "n K"]) -> Float[Array, "n n"]:
    """Compute the lower triangle of HHᵀ, in quarters; entries above it are undefined and must not be differentiated.

    The factorisation needs only this half, and XLA has no product that exploits it. Three square quarters are faster
    than thinner slices with fewer operations.
    """
    n, half = H.shape[0], H.shape[0] // 2
    top, bottom = H[:half], H[half:]
    upper = jnp.pad(top @ top.T, ((0, 0), (0, n - half)))
    return jnp.concatenate([upper, jnp.concatenate([bottom @ top.T, bottom @ bottom.T], axis=1)])


def dual(problem: Isolated, H: Float[Array, "n K"], *, differentiable: bool = True) -> Float[Array, "n M"]:
    """Solve for B = AY, so that V = HᵀB: A = (HHᵀ + λI)⁻¹, or with a bias C(CHHᵀC + λI)⁻¹C, C = I − 11ᵀ/n.

    `differentiable=False` saves a third of the time if no derivative with respect to H is needed.
    """
    n, Y = H.shape[0], jnp.asarray(problem.Y, H.dtype)
    if problem.bias:
        H, Y = H - H.mean(0), Y - Y.mean(0)
    G = H @ H.T if differentiable else _lower_gram(H)
    if problem.lam > 0:
        G = G + problem.lam * jnp.eye(n, dtype=H.dtype)
    if problem.bias:
        # 1 is an eigenvector of CHHᵀC with eigenvalue 0; another eigenvalue there leaves C(·)⁻¹C unchanged.
        G = G + jnp.trace(G) / n**2
    L = jax.lax.linalg.cholesky(G, symmetrize_input=differentiable)
    B = jax.scipy.linalg.cho_solve((L, True), Y)
    return B - B.mean(0) if problem.bias else B


def velocity(problem: Isolated, W: Weights) -> Float[Array, "d K"]:
    r"""Compute Ẇ of eq. 21, exact for every λ, σ and bias.

    $$\dot W = X^\top\big((AYY^\top AH)\odot\sigma'(XW)\big) - W = -\tfrac{1}{2\lambda}\nabla\mathcal R(W)$$

    in the unit of time 1/(2λ). With B = AY the middle is B(BᵀH): one factorisation, no inverse, and the Gram matrix as
    the only n×n product.

    >>> from firstlight import tasks
    >>> problem = isolate(tasks.group_task("Z5", encoding="summed").split(fraction=0.7), "relu")
    >>> velocity(problem, jax.random.normal(jax.random.key(0), (5, 16))).shape
    (5, 16)
    """
    W = jnp.asarray(W)
    Z = problem.inputs.project(W)
    H = problem.activation(Z)
    B = dual(problem, H, differentiable=False)
    back = (B @ (B.T @ H)) * problem.activation.derivative(Z)
    # Projecting I gives X itself: XLA's scatter is slower than the dense product that it would avoid.
    X = problem.inputs.project(jnp.eye(W.shape[0], dtype=W.dtype))
    return X.T @ back - W


def cost(problem: Isolated, W: Weights) -> Float[Array, ""]:
    r"""Compute the cost of the isolated layer in units of λ.

    $$\mathcal R/\lambda = \|W\|^2 + \operatorname{tr} Y^\top A Y$$

    which is eq. 17 simplified and, at λ = 0, eq. 20.
    """
    W = jnp.asarray(W)
    B = dual(problem, problem.activation(problem.inputs.project(W)))
    return jnp.sum(W**2) + jnp.sum(jnp.asarray(problem.Y, W.dtype) * B)


def output_layer(problem: Isolated, W: Weights) -> tuple[Float[Array, "K M"], Float[Array, " M"]]:
    """Return V = φ(W) = HᵀAY, the ridge solution (eq. 16; least norm at λ = 0), and the bias c (zero without bias)."""
    W = jnp.asarray(W)
    H = problem.activation(problem.inputs.project(W))
    V = H.T @ dual(problem, H)
    Y = jnp.asarray(problem.Y, W.dtype)
    return V, (Y - H @ V).mean(0) if problem.bias else jnp.zeros(Y.shape[1], W.dtype)


def network_outputs(problem: Isolated, W: Weights, inputs: Inputs) -> Float[Array, "m M"]:
    """Return the outputs σ(XW)V + c on other inputs, with V and c optimal for W on the training rows."""
    V, c = output_layer(problem, W)
    return problem.activation(inputs.project(jnp.asarray(W))) @ V + c


class _HalfCost(eqx.Module):
    problem: Isolated

    def __call__(self, W: Float[Array, "d K"]) -> Float[Array, ""]:
        return cost(self.problem, W) / 2

    def gradient(self, W: Float[Array, "d K"]) -> Float[Array, "d K"]:
        return -velocity(self.problem, W)


def resolved_flow(problem: Isolated, W: ArrayLike, times: Times, **options: Unpack[flow.FlowOptions]) -> flow.Flow:
    """Solve eq. 21 adaptively in float64, where the paper takes Euler steps; `loss` of the result is R/2λ."""
    problem.require_start(W)
    half = _HalfCost(problem)
    return flow.gradient_flow(half, np.asarray(W), times, gradient=half.gradient, **options)
