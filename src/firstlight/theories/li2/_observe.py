"""What Li₂ looks at along a run: the backpropagated gradient, the features, and how far nodes act alone.

Beside the outputs, which the run evaluates anyway, it costs one product of the size of a forward pass; what needs
pairs of nodes or of samples is taken on a fixed random choice of them. The formulas are written for any array
namespace: a run takes them in JAX, weights that someone brings in NumPy.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from firstlight import flow
from firstlight.features import centred, dominates, irrep_content, node_shares, purity
from firstlight.groups import Group
from firstlight.models import HiddenUnits, Model
from firstlight.tasks import Split, Task

SAMPLED = 256
"""Nodes, and samples, on which quantities of pairs are taken: 32,640 pairs are plenty, and all would be dear."""

SHOWN = 24
"""Nodes whose own irrep content and energy are kept at each recorded step."""

BLOCK = 128
"""Most nodes whose activations are made at a time."""

FLOOR, CEILING = 1e-3, 1e6
"""Least and largest ridge of the repulsion coefficients, in units of the mean ‖f̃_j‖², so that float32 can invert."""


class Seen(NamedTuple):
    """What is needed of the activations F (n, K): `fitted` FV (n, M) up to a constant row, `correlations` ỸᵀF (M, K),
    the `mean` (K,) over samples, and F on some `nodes` (n, s) and on some `samples` (s, K)."""

    fitted: Any
    correlations: Any
    mean: Any
    nodes: Any
    samples: Any


def see(F: Float[Any, "n K"], V: Float[Any, "K M"], Y: Float[Any, "n M"], sampled: int | None = None) -> Seen:
    """`Seen` from the activations themselves; on all nodes and samples unless `sampled`."""
    n, K = F.shape
    rows, columns = (slice(None) if sampled is None else _choice(m, min(sampled, m)) for m in (n, K))
    mean = F.__array_namespace__().mean(F, axis=0)
    return Seen(F @ V, centred(Y).T @ F, mean, F[:, columns], F[rows])


def see_in_blocks(
    units: HiddenUnits, inputs: Any, Y: Float[Array, "n M"], sampled: int, outputs: Float[Array, "n M"]
) -> Seen:
    """As `see`, with the activations of one block of nodes at a time, which stay in cache: half the time.

    The network's `outputs` on these rows stand for FV: the run evaluates them anyway.

    Blocks are of equal width; where K is no multiple of it, nodes without weights fill the last one up.
    """
    W = units.W
    (d, K), n = W.shape, len(Y)
    count = -(-K // BLOCK)
    width = -(-K // count)
    filled = lambda A, axis: jnp.pad(A, [(0, count * width - K if i == axis else 0) for i in range(A.ndim)])  # noqa: E731
    blocks = (
        filled(W, 1).reshape(d, count, width).transpose(1, 0, 2),
        None if units.b is None else filled(units.b, 0).reshape(count, width),
    )
    Y_tilde = centred(Y)

    def reduce(block: Any) -> tuple[Array, Array]:
        W_block, b = block
        F = _activate(units, inputs.project(W_block), b)
        return Y_tilde.T @ F, F.mean(0)

    correlations, mean = jax.lax.map(reduce, blocks)
    columns, rows = _choice(K, min(sampled, K)), _choice(n, min(sampled, n))
    nodes = _activate(units, inputs.project(W[:, columns]), None if units.b is None else units.b[columns])
    samples = _activate(units, inputs.take(rows).project(W), units.b)
    together = correlations.transpose(1, 0, 2).reshape(Y.shape[1], count * width)
    return Seen(outputs, together[:, :K], mean.reshape(-1)[:K], nodes, samples)


def _activate(units: HiddenUnits, H: Array, b: Array | None) -> Array:
    return units.activation(H if b is None else H + b)


def _tiny(A: Any) -> float:
    return float(np.finfo(A.dtype).tiny)


def cosine_distance(a: Any, b: Any) -> Any:
    """1 − cos∠(a, b) = ½‖a/|a| − b/|b|‖², in the form that does not cancel for nearly parallel arrays.

    >>> round(float(cosine_distance(np.array([1.0, 0.0]), np.array([0.0, 2.0]))), 6)
    1.0
    """
    xp = a.__array_namespace__()
    unit = lambda x: x / xp.maximum(xp.sqrt(xp.sum(x**2)), _tiny(x))  # noqa: E731
    return 0.5 * xp.sum((unit(a) - unit(b)) ** 2)


def off_diagonal(G: Float[Any, "s s"], size: int) -> tuple[Any, Any]:
    """How far a matrix is from diagonal: mean |off| / mean |diagonal|, and ‖off‖_F / ‖G‖_F at full size.

    The second grows with the size of the matrix; from a block (s, s) of it, both norms are extrapolated to `size`
    rows by their means per entry. Figure 2 of Li₂ can only mean the first.

    >>> entry, norm = off_diagonal(np.eye(3) + 0.1, size=300)
    >>> round(float(entry), 3), round(float(norm), 3)
    (0.091, 0.844)
    """
    xp, s = G.__array_namespace__(), len(G)
    diagonal, pairs = xp.linalg.diagonal(G), max(s * (s - 1), 1)
    off = G * (1 - xp.eye(s, dtype=G.dtype))
    squares = (size - 1) * xp.sum(off**2) / pairs
    entry = xp.sum(xp.abs(off)) / pairs / xp.maximum(xp.mean(xp.abs(diagonal)), _tiny(G))
    return entry, xp.sqrt(squares / xp.maximum(squares + xp.mean(diagonal**2), _tiny(G)))


def repulsion(G: Float[Any, "s s"], eta: Any) -> Any:
    """How much of what drives a node comes from the others: the mean of ‖Σ_{l≠j} b_jl f̃_l‖ / ‖b_jj f̃_j‖ (Theorem 6).

    With B = (G + ηI)⁻¹ it needs the Gram matrix G = F̃ᵀF̃ alone. It is 0 for orthogonal features and where all
    are 0, and near 1 where every feature is a combination of the others.

    >>> round(float(repulsion(np.eye(4), 0.1)), 6)
    0.0
    """
    xp = G.__array_namespace__()
    size = xp.mean(xp.linalg.diagonal(G))
    size = xp.where(size > _tiny(G), size, xp.ones_like(size))
    # In units of the mean ‖f̃_j‖² nothing over- or underflows.
    G, identity = G / size, xp.eye(len(G), dtype=G.dtype)
    B = xp.linalg.inv(G + xp.clip(eta / size, FLOOR, CEILING) * identity)
    b, g, others = xp.linalg.diagonal(B), xp.linalg.diagonal(G), B * (1 - identity)
    squares = xp.maximum(xp.sum(others * (G @ others), axis=0), 0.0)
    return xp.mean(xp.sqrt(squares) / xp.maximum(b * xp.sqrt(xp.maximum(g, 0.0)), xp.sqrt(xp.asarray(_tiny(G)))))


def measure(
    model: Model,
    previous: Model | None,
    seen: Seen,
    Y: Float[Any, "n M"],
    group: Group | None,
    shown: int | None = SHOWN,
) -> dict[str, Any]:
    """Everything Li₂ looks at, at one moment; the columns are explained in `docs/li2.md`.

    |G_F| and its cosine with ỸỸᵀF come from M×M products: with R = P₁⊥(Y − FV) and C = ỸᵀF,
    ‖RVᵀ‖² = ⟨RᵀR, VᵀV⟩, ⟨RVᵀ, ỸC⟩ = ⟨RᵀỸ, (CV)ᵀ⟩ and ‖ỸC‖² = ⟨ỸᵀỸ, CCᵀ⟩; the energies are ½ΣC². The ridge under
    which V would rest, η = ⟨R, FV⟩/‖V‖², is read off the weights: it is the decay's once Stage I is over.

    **Arguments:** `model`; `previous`, one step earlier, or None, which leaves its columns out; what was `seen` of the
    activations; `Y` the targets; the `group` or None; `shown`, the number of nodes of which content and energy are
    kept, None for all.
    """
    xp, C = Y.__array_namespace__(), seen.correlations
    W, V = xp.asarray(model.first), xp.asarray(model.last)
    Y, fitted = centred(Y), centred(seen.fitted)
    R = Y - fitted
    norm = xp.sqrt(xp.maximum(xp.sum((R.T @ R) * (V.T @ V)), 0.0))
    ideal = xp.sqrt(xp.maximum(xp.sum((Y.T @ Y) * (C @ C.T)), 0.0))
    ridge = xp.sum(R * fitted) / xp.maximum(xp.sum(V**2), _tiny(V))
    energies, shares = _energies(model, W, C), node_shares(W)
    values = {
        "li2.G_F": norm,
        "li2.alignment": xp.sum((R.T @ Y) * (C @ V).T) / xp.maximum(norm * ideal, _tiny(V)),
        "li2.energy": xp.mean(energies) if model.hidden_units is None else xp.sum(shares * energies),
        "li2.energies": energies[:shown],
        "li2.ridge": ridge,
        **_pairs(seen, ridge),
    }
    if previous is not None:
        W_before, V_before = xp.asarray(previous.first), xp.asarray(previous.last)
        values |= {"li2.step_V": cosine_distance(V, V_before), "li2.step_W": cosine_distance(W, W_before)}
    if group is None or W.shape[0] % group.order:
        return values
    content = irrep_content(W, group)
    return values | {
        "li2.purity": xp.sum(shares * purity(content)),
        "li2.irreps": shares @ content,
        "li2.nodes": xp.mean(xp.asarray(dominates(content, group), dtype=W.dtype), axis=0),
        "li2.content": content[:shown],
    }


def _energies(model: Model, W: Any, C: Float[Any, "M K"]) -> Float[Any, " K"]:
    """E(w_j/‖w_j‖) where σ is homogeneous, E(w_j) elsewhere and above the first layer."""
    xp = C.__array_namespace__()
    energies = 0.5 * xp.sum(C**2, axis=0)
    units = model.hidden_units
    if units is None or units.b is not None or (q := units.activation.homogeneity) is None:
        return energies
    return energies / xp.maximum(xp.sum(W**2, axis=0), _tiny(C) ** 0.25) ** q


def _pairs(seen: Seen, ridge: Any) -> dict[str, Any]:
    n, K = len(seen.fitted), len(seen.mean)
    some = centred(seen.nodes)
    between_nodes = some.T @ some
    entry, whole = off_diagonal(between_nodes, K)
    sample_entry, sample_whole = off_diagonal((seen.samples - seen.mean) @ seen.samples.T, n)
    return {
        "li2.off_nodes": entry,
        "li2.off_nodes_norm": whole,
        "li2.off_samples": sample_entry,
        "li2.off_samples_norm": sample_whole,
        # A part of the nodes under that part of the ridge has the P_η of all of them, on average.
        "li2.repulsion": repulsion(between_nodes, ridge * len(between_nodes) / K),
    }


@functools.lru_cache(maxsize=64)
def _choice(total: int, count: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(total)[:count])


def observe(ctx: flow.Context) -> dict[str, Array]:
    """The observable of the lens: `measure` on the training rows, pairs on at most `SAMPLED` nodes and samples."""
    model, inputs = ctx.model, ctx.train_inputs
    Y = flow.target_matrix(ctx.train_targets, ctx.task.outputs, model.last.dtype)
    if (units := model.hidden_units) is not None:
        seen = see_in_blocks(units, inputs, Y, SAMPLED, ctx.train_outputs)
    else:
        seen = see(model.features(inputs.project), model.last, Y, SAMPLED)
    return measure(model, ctx.previous, seen, Y, ctx.task.group)


def observe_exactly(ctx: flow.Context) -> dict[str, Array]:
    """As `observe`, with all pairs of nodes and of samples: as dear as many training steps at K = n = 2048."""
    V = ctx.model.last
    Y = flow.target_matrix(ctx.train_targets, ctx.task.outputs, V.dtype)
    seen = see(ctx.model.features(ctx.train_inputs.project), V, Y)
    return measure(ctx.model, ctx.previous, seen, Y, ctx.task.group, None)


def read(model: Model, data: Task | Split, *, previous: Model | None = None) -> dict[str, Any]:
    """What the lens sees in weights that someone brings, exactly, in float64.

    **Arguments:** `model`, two-layer or deep; `data`, the task, or a split whose training rows are used;
    `previous`, the weights a step earlier; without them the columns of the last step are left out.

    Returns the columns of the lens: numbers as floats, per-node content (K, c) and energies (K,) as arrays.

    >>> import jax
    >>> from firstlight import models, tasks
    >>> net = models.TwoLayer.init(jax.random.key(0), inputs=12, width=16, outputs=6)
    >>> seen = read(net, tasks.group_task("S3"))
    >>> seen["li2.content"].shape, 0 < seen["li2.purity"] < 1
    ((16, 3), True)
    """
    task = data.task if isinstance(data, Split) else data
    rows = data.train if isinstance(data, Split) else np.arange(len(task))
    d, outputs = model.first.shape[0], model.last.shape[1]
    if d != task.inputs.dim:
        raise ValueError(
            f"the model takes inputs of dimension {d}, the task {task.name} has {task.inputs.dim}; weights are "
            "(in, out), and one-hot pairs of a group of order M have dimension 2M"
        )
    if outputs != task.outputs:
        raise ValueError(
            f"the model has {outputs} outputs, the task {task.name} has {task.outputs}; V is (in, out), with a column "
            "for each element of the group"
        )
    Y = task.targets[rows]
    Y = np.eye(task.outputs)[Y] if Y.ndim == 1 else np.asarray(Y, float)
    with jax.enable_x64(True):
        wide = lambda m: jax.tree.map(lambda a: jnp.asarray(a, jnp.float64), m)  # noqa: E731
        now, then = wide(model), None if previous is None else wide(previous)
        F = np.asarray(now.features(task.inputs.take(rows).project))
    values = measure(now, then, see(F, np.asarray(now.last), Y), Y, task.group, None)
    return {name: v if np.ndim(v) else float(v) for name, v in values.items()}
