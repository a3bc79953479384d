"""Measure the backpropagated gradient, the features, and the interaction of hidden units along a run.

The run evaluates the outputs anyway; the lens adds one product of the size of a forward pass. Quantities of pairs of
hidden units or samples use a fixed random choice. The formulas work in any array namespace: JAX during a run, NumPy for
a user's weights.
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
"""Number of hidden units, and of samples, for quantities of pairs: 32,640 pairs suffice, and all would be expensive."""

SHOWN = 24
"""Number of hidden units whose irrep content and energy are recorded at each recorded step."""

BLOCK = 128
"""Largest number of hidden units whose activations are computed at a time."""

FLOOR, CEILING = 1e-3, 1e6
"""Bounds on the ridge of the repulsion coefficients, in units of the mean ‖f̃_j‖², so that float32 can invert."""


class Seen(NamedTuple):
    """The parts of the activations F (n, K) that the lens needs.

    **Attributes:**

    - `fitted`: FV (n, M) up to a constant row.
    - `correlations`: ỸᵀF (M, K).
    - `mean`: (K,) mean of F over samples.
    - `nodes`: (n, s) F on some hidden units.
    - `samples`: (s, K) F on some samples.
    """

    fitted: Any
    correlations: Any
    mean: Any
    nodes: Any
    samples: Any


def see(F: Float[Any, "n K"], V: Float[Any, "K M"], Y: Float[Any, "n M"], sampled: int | None = None) -> Seen:
    """Return `Seen` from the activations, on all hidden units and samples unless `sampled` limits them."""
    n, K = F.shape
    rows, columns = (slice(None) if sampled is None else _choice(m, min(sampled, m)) for m in (n, K))
    mean = F.__array_namespace__().mean(F, axis=0)
    return Seen(F @ V, centred(Y).T @ F, mean, F[:, columns], F[rows])


def see_in_blocks(
    units: HiddenUnits, inputs: Any, Y: Float[Array, "n M"], sampled: int, outputs: Float[Array, "n M"]
) -> Seen:
    """Return `Seen` from one block of hidden units at a time, which stays in cache: half the time of `see`.

    The network's `outputs` on these rows replace FV, since the run evaluates them anyway. Blocks have equal width;
    hidden units of weight 0 pad the last block.
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
    """Return 1 − cos∠(a, b) = ½‖a/|a| − b/|b|‖², in the form that does not cancel for nearly parallel arrays.

    >>> round(float(cosine_distance(np.array([1.0, 0.0]), np.array([0.0, 2.0]))), 6)
    1.0
    """
    xp = a.__array_namespace__()
    unit = lambda x: x / xp.maximum(xp.sqrt(xp.sum(x**2)), _tiny(x))  # noqa: E731
    return 0.5 * xp.sum((unit(a) - unit(b)) ** 2)


def off_diagonal(G: Float[Any, "s s"], size: int) -> tuple[Any, Any]:
    """Measure how far a matrix is from diagonal: mean |off| / mean |diagonal|, and ‖off‖_F / ‖G‖_F at full size.

    The second measure grows with the size of the matrix. Both norms are extrapolated from a block (s, s) to `size` rows
    by their means per entry. Figure 2 of Li₂ can only mean the first measure.

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
    """Measure how much other hidden units drive a hidden unit: mean ‖Σ_{l≠j} b_jl f̃_l‖ / ‖b_jj f̃_j‖ (Theorem 6).

    With B = (G + ηI)⁻¹ it needs only the Gram matrix G = F̃ᵀF̃. It is 0 if the features are orthogonal or all zero, and
    near 1 if every feature is a combination of the others.

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
    """Compute all columns of the lens at one moment; `docs/li2.md` explains them.

    |G_F| and its cosine with ỸỸᵀF come from M×M products: with R = P₁⊥(Y − FV) and C = ỸᵀF,
    ‖RVᵀ‖² = ⟨RᵀR, VᵀV⟩, ⟨RVᵀ, ỸC⟩ = ⟨RᵀỸ, (CV)ᵀ⟩ and ‖ỸC‖² = ⟨ỸᵀỸ, CCᵀ⟩; the energies are ½ΣC². The ridge under
    which V would rest, η = ⟨R, FV⟩/‖V‖², comes from the weights: it equals the decay's once Stage I is over.

    **Arguments:**

    - `model`: the network now.
    - `previous`: the network one step earlier, or None, which leaves out the columns of the last step.
    - `seen`: parts of the activations.
    - `Y`: (n, M) targets.
    - `group`: the group, or None, which leaves out the irrep columns.
    - `shown`: number of hidden units whose content and energy are returned, None for all.
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
    """Return E(w_j/‖w_j‖) for homogeneous σ, and E(w_j) for other σ and above the first layer."""
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
        # A share of the hidden units with the same share of the ridge has, on average, the P_η of all units.
        "li2.repulsion": repulsion(between_nodes, ridge * len(between_nodes) / K),
    }


@functools.lru_cache(maxsize=64)
def _choice(total: int, count: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(total)[:count])


def observe(ctx: flow.Context) -> dict[str, Array]:
    """Record `measure` on the training rows, with pairs of at most `SAMPLED` hidden units and samples."""
    model, inputs = ctx.model, ctx.train_inputs
    Y = flow.target_matrix(ctx.train_targets, ctx.task.outputs, model.last.dtype)
    if (units := model.hidden_units) is not None:
        seen = see_in_blocks(units, inputs, Y, SAMPLED, ctx.train_outputs)
    else:
        seen = see(model.features(inputs.project), model.last, Y, SAMPLED)
    return measure(model, ctx.previous, seen, Y, ctx.task.group)


def observe_exactly(ctx: flow.Context) -> dict[str, Array]:
    """Record as `observe`, with all pairs of hidden units and samples: costs many training steps at K = n = 2048."""
    V = ctx.model.last
    Y = flow.target_matrix(ctx.train_targets, ctx.task.outputs, V.dtype)
    seen = see(ctx.model.features(ctx.train_inputs.project), V, Y)
    return measure(ctx.model, ctx.previous, seen, Y, ctx.task.group, None)


def read(model: Model, data: Task | Split, *, previous: Model | None = None) -> dict[str, Any]:
    """Compute the columns of the lens for a user's weights, exactly, in float64.

    **Arguments:**

    - `model`: two-layer or deep.
    - `data`: a task, or a split, of which the training rows are used.
    - `previous`: the weights one step earlier; without them the columns of the last step are left out.

    Returns the columns of the lens: numbers as floats, content (K, c) and energies (K,) of hidden units as arrays.

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
