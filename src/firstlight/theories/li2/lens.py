"""What Li₂ looks at along a run: the backpropagated gradient, the features, and how far nodes act alone.

All of it costs two products of the size of a forward pass; what needs pairs of nodes or of samples is taken on
a fixed random choice of them.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.features import irrep_content, purity
from firstlight.groups import Group
from firstlight.models import Activation, Deep, TwoLayer
from firstlight.tasks import Split, Task

Model = TwoLayer | Deep

SAMPLED = 256
"""Nodes, and samples, on which quantities of pairs are taken: 32,640 pairs are plenty, and all would be dear."""

SHOWN = 24
"""Nodes whose own irrep content and energy are kept at each recorded step."""

FLOOR = 1e-3
"""Least ridge of the repulsion coefficients, in units of the mean ‖f̃_j‖², so that float32 can invert."""


def layers(model: Model) -> tuple[Array, Array]:
    """W, the weights that see the input, and V, those that make the output."""
    return (model.W, model.V) if isinstance(model, TwoLayer) else (model.weights[0], model.weights[-1])


def features(model: Model, inputs: Any) -> Float[Array, "n K"]:
    """F, the activations of the last hidden layer."""
    return model.hidden(inputs.project) if isinstance(model, TwoLayer) else model.hidden_states(inputs.project)[-1]


def cosine_distance(a: Array, b: Array) -> Float[Array, ""]:
    """1 − cos∠(a, b) = ½‖a/|a| − b/|b|‖², in the form that does not cancel for nearly parallel arrays.

    >>> round(float(cosine_distance(jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0]))), 6)
    1.0
    """
    tiny = jnp.finfo(a.dtype).tiny
    unit = lambda x: x / jnp.maximum(jnp.linalg.norm(x.ravel()), tiny)  # noqa: E731
    return 0.5 * jnp.sum((unit(a) - unit(b)) ** 2)


def off_diagonal(G: Float[Array, "s s"], size: int) -> tuple[Array, Array]:
    """How far a matrix is from diagonal: mean |off| / mean diagonal, and ‖off‖_F / ‖G‖_F at full size.

    The second grows with the size of the matrix; from a block (s, s) of it, both norms are extrapolated to `size`
    rows by their means per entry. Figure 2 of Li₂ can only mean the first.

    >>> entry, norm = off_diagonal(jnp.eye(3) + 0.1, size=300)
    >>> round(float(entry), 3), round(float(norm), 3)
    (0.091, 0.844)
    """
    s, diagonal = len(G), jnp.diagonal(G)
    pairs = max(s * (s - 1), 1)
    off = G - jnp.diag(diagonal)
    squares = (size - 1) * jnp.sum(off**2) / pairs
    entry = jnp.sum(jnp.abs(off)) / pairs / jnp.mean(jnp.abs(diagonal))
    return entry, jnp.sqrt(squares / (squares + jnp.mean(diagonal**2)))


def repulsion(G: Float[Array, "s s"], eta: Float[Array, ""]) -> Float[Array, ""]:
    """How much of what drives a node comes from the others: the mean of ‖Σ_{l≠j} b_jl f̃_l‖ / ‖b_jj f̃_j‖ (Theorem 6).

    With B = (G + ηI)⁻¹ and GB = I − ηB it needs the Gram matrix G = F̃ᵀF̃ alone. It is 0 for orthogonal
    features and near 1 where every feature is a combination of the others.

    >>> round(float(repulsion(jnp.eye(4), jnp.float32(0.1))), 6)
    0.0
    """
    eta = jnp.maximum(eta, FLOOR * jnp.mean(jnp.diagonal(G)) + jnp.finfo(G.dtype).tiny)
    B = jnp.linalg.inv(G + eta * jnp.eye(len(G), dtype=G.dtype))
    g, b = jnp.diagonal(G), jnp.diagonal(B)
    GB = 1 - eta * b
    BGB = b - eta * jnp.sum(B**2, axis=0)
    others = jnp.sqrt(jnp.maximum(BGB - 2 * b * GB + b**2 * g, 0.0))
    return jnp.mean(others / (b * jnp.sqrt(jnp.maximum(g, eta))))


def degree(sigma: Activation) -> int | None:
    """q with σ(cx) = c^q σ(x) for c > 0, or None.

    >>> from firstlight.models import activation
    >>> degree(activation("quadratic")), degree(activation("relu")), degree(activation("silu"))
    (2, 1, None)
    """
    if sigma.polynomial is not None:
        powers = [i for i, c in enumerate(sigma.polynomial) if c]
        return powers[0] if len(powers) == 1 else None
    return 1 if sigma.name == "relu" or sigma.name.startswith("leaky_relu") else None


def measure(
    model: Model,
    previous: Model,
    inputs: Any,
    targets: Array,
    outputs: int,
    group: Group | None,
    sampled: int | None = SAMPLED,
) -> dict[str, Array]:
    """Everything Li₂ looks at, at one moment; the columns are explained in `docs/li2.md`.

    |G_F| and its cosine with ỸỸᵀF come from M×M products: with R = P₁⊥(Y − FV) and C = ỸᵀF,
    ‖RVᵀ‖² = ⟨RᵀR, VᵀV⟩, ⟨RVᵀ, ỸC⟩ = ⟨RᵀỸ, (CV)ᵀ⟩ and ‖ỸC‖² = ⟨ỸᵀỸ, CCᵀ⟩; the energies are ½ΣC². The ridge under
    which V would rest, η = ⟨R, FV⟩/‖V‖², is read off the weights: it is the decay's once Stage I is over.

    **Arguments:** `model` and `previous` (one step earlier), `inputs` (n rows) with `targets`, `outputs` M, the
    `group` or None, and `sampled`, the number of nodes and of samples for pairs, None for all.
    """
    W, V = layers(model)
    F = features(model, inputs)
    n, K = F.shape
    Y = flow.target_matrix(targets, outputs, F.dtype)
    Y = Y - Y.mean(0)
    fitted = F @ V
    fitted = fitted - fitted.mean(0)
    R = Y - fitted
    C = Y.T @ F
    norm = jnp.sqrt(jnp.maximum(jnp.sum((R.T @ R) * (V.T @ V)), 0.0))
    ideal = jnp.sqrt(jnp.maximum(jnp.sum((Y.T @ Y) * (C @ C.T)), 0.0))
    inner = jnp.sum((R.T @ Y) * (C @ V).T)
    energies = _energies(model, C)
    ridge = jnp.sum(R * fitted) / jnp.maximum(jnp.sum(V**2), jnp.finfo(F.dtype).tiny)
    values = {
        "li2.G_F": norm,
        "li2.alignment": inner / jnp.maximum(norm * ideal, jnp.finfo(F.dtype).tiny),
        "li2.energy": energies.mean(),
        "li2.energies": energies[: SHOWN if sampled else K],
        "li2.step_V": cosine_distance(V, layers(previous)[1]),
        "li2.step_W": cosine_distance(W, layers(previous)[0]),
        "li2.ridge": ridge,
        **_pairs(F, ridge, n if sampled is None else min(sampled, n), K if sampled is None else min(sampled, K)),
    }
    if group is not None and W.shape[0] % group.order == 0:
        content = irrep_content(W, group)
        values |= {
            "li2.purity": purity(content).mean(),
            "li2.irreps": content.mean(0),
            "li2.nodes": jnp.mean(content > 0.5, axis=0, dtype=W.dtype),
            "li2.content": content[: SHOWN if sampled else K],
        }
    return values


def _energies(model: Model, C: Float[Array, "M K"]) -> Float[Array, " K"]:
    """E(w_j/‖w_j‖) where σ is homogeneous, E(w_j) elsewhere and above the first layer."""
    energies = 0.5 * jnp.sum(C**2, axis=0)
    if not isinstance(model, TwoLayer) or model.b is not None or (q := degree(model.activation)) is None:
        return energies
    return energies / jnp.maximum(jnp.sum(model.W**2, axis=0), jnp.finfo(C.dtype).tiny) ** q


def _pairs(F: Float[Array, "n K"], ridge: Array, samples: int, nodes: int) -> dict[str, Array]:
    n, K = F.shape
    rows, columns = _choice(n, samples), _choice(K, nodes)
    mean = F.mean(0)
    some = F if nodes == K else F[:, columns]
    some = some - some.mean(0)
    few = F if samples == n else F[rows]
    between_nodes = some.T @ some
    entry, whole = off_diagonal(between_nodes, K)
    sample_entry, sample_whole = off_diagonal((few - mean) @ few.T, n)
    return {
        "li2.off_nodes": entry,
        "li2.off_nodes_norm": whole,
        "li2.off_samples": sample_entry,
        "li2.off_samples_norm": sample_whole,
        # A part of the nodes under that part of the ridge has the P_η of all of them, on average.
        "li2.repulsion": repulsion(between_nodes, ridge * nodes / K),
    }


@functools.lru_cache(maxsize=64)
def _choice(total: int, count: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(total)[:count])


def observe(ctx: flow.Context) -> dict[str, Array]:
    """The observable of the lens: `measure` on the training rows, pairs on at most `SAMPLED` nodes and samples."""
    return measure(
        ctx.model, ctx.previous, ctx.train_inputs, ctx.train_targets, ctx.task.outputs, ctx.task.group, SAMPLED
    )


def observe_exactly(ctx: flow.Context) -> dict[str, Array]:
    """As `observe`, with all pairs of nodes and of samples: as dear as seven training steps at K = n = 2048."""
    return measure(ctx.model, ctx.previous, ctx.train_inputs, ctx.train_targets, ctx.task.outputs, ctx.task.group, None)


def read(model: Model, data: Task | Split, *, previous: Model | None = None) -> dict[str, Any]:
    """What the lens sees in weights that someone brings, exactly, in float64.

    **Arguments:** `model`, two-layer or deep; `data`, the task, or a split whose training rows are used;
    `previous`, the weights a step earlier, if known.

    Returns the columns of the lens: numbers as floats, per-node content (K, c) and energies (K,) as arrays.

    >>> import jax
    >>> from firstlight import models, tasks
    >>> net = models.TwoLayer.init(jax.random.key(0), inputs=12, width=16, outputs=6)
    >>> seen = read(net, tasks.group_task("S3"))
    >>> seen["li2.content"].shape, 0 < seen["li2.purity"] < 1
    ((16, 3), True)
    """
    task = data.task if isinstance(data, Split) else data
    inputs, targets = (
        (data.train_inputs, data.train_targets) if isinstance(data, Split) else (data.inputs, data.targets)
    )
    d = layers(model)[0].shape[0]
    if d != inputs.dim:
        raise ValueError(
            f"the model takes inputs of dimension {d}, the task {task.name} has {inputs.dim}; weights are (in, out), "
            "and one-hot pairs of a group of order M have dimension 2M"
        )
    with jax.enable_x64(True):
        wide = lambda m: jax.tree.map(lambda a: jnp.asarray(a, jnp.float64), m)  # noqa: E731
        now = wide(model)
        then = now if previous is None else wide(previous)
        values = measure(now, then, inputs, jnp.asarray(targets), task.outputs, task.group, None)
        return {name: float(v) if v.ndim == 0 else np.asarray(v) for name, v in values.items()}
