"""What the hidden units of a run became: irreps, waves, points, energies and blocks at every stored step."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from firstlight import features, groups, models
from firstlight.groups import Group
from firstlight.records import GroupTask, RunRecord, RunSpec, Store, StoreError
from firstlight.runs._lenses import lenses
from firstlight.runs._models import load_model
from firstlight.runs._resolve import snapshot_steps
from firstlight.runs._run import StoreLike

UNITS = 128
"""Most hidden units that a history holds, those with the largest weights at the end."""

NUMBERS = 600_000
"""Most numbers of waves that a history holds; on large groups it holds fewer hidden units, but at least `FEWEST`."""

FEWEST = 16

ALIVE = 0.1
"""A unit whose weights at the end are smaller than this share of the largest has been shrunk by weight decay."""


@dataclass(frozen=True, eq=False)
class FeatureHistory:
    """The features of a run over time: S stored steps, U hidden units, C irreps, a group of order M, F frequencies.

    **Attributes:**

    - `steps`: (S,) the steps of the snapshots and of the end.
    - `irreps`: (C,) labels of the real components, the trivial one first.
    - `dims`: (C,) the dimensions of the irreps.
    - `elements`: M.
    - `is_abelian`: whether the group is Abelian.
    - `column`: what a column of the heat map's weights is: "hidden unit", or "embedding dimension" of a transformer.
    - `columns`: how many of them the network has.
    - `units`: (U,) their numbers, sorted by their strongest irrep at the end, units that shrank to nothing last.
    - `alive`: how many of them have not shrunk to nothing (`ALIVE`).
    - `content`: (S, U, C) share of every irrep in the weights, see `features.irrep_content`.
    - `sizes`: (S, U) ‖w_j‖.
    - `waves`: (S, U, B, M) the weights over the elements: a block for each factor and, last, for the outputs.
    - `blocks`: (B,) the names of these blocks.
    - `points`: (S, C, M, 2) the elements in a plane of each irrep, see `features.component_points`.
    - `orbits`: (S, C) how far each irrep of the embedding is an orbit of the group, see `features.orbit_shares`.
    - `energies`: (S, U) E of each unit at norm one, over the whole table, or None with the reason in `no_energies`.
    - `peaks`: (C,) E*, the energy of the maxima in each irrep; NaN where it is not known in closed form.
    - `no_energies`: '' or the reason.
    - `frequencies`: (F,) labels of the pairs of frequencies.
    - `orders`: (S, F) hidden units per frequency (CoGO's census), or None with the reason in `no_orders`.
    - `crafted`: (F,) names of the crafted blocks at the end.
    - `no_orders`: '' or the reason.
    """

    steps: Int[np.ndarray, " S"]
    irreps: tuple[str, ...]
    dims: tuple[int, ...]
    elements: int
    is_abelian: bool
    column: str
    columns: int
    units: Int[np.ndarray, " U"]
    alive: int
    content: Float[np.ndarray, "S U C"]
    sizes: Float[np.ndarray, "S U"]
    waves: Float[np.ndarray, "S U B M"]
    blocks: tuple[str, ...]
    points: Float[np.ndarray, "S C M two"]
    orbits: Float[np.ndarray, "S C"]
    energies: Float[np.ndarray, "S U"] | None
    peaks: Float[np.ndarray, " C"]
    no_energies: str
    frequencies: tuple[str, ...]
    orders: Int[np.ndarray, "S F"] | None
    crafted: tuple[str, ...]
    no_orders: str


def feature_history(
    run: RunRecord | RunSpec | str, store: StoreLike, data: str | os.PathLike[str] | None = None
) -> FeatureHistory:
    """Return what the hidden units of a stored run became, at its snapshots and at its end.

    The waves of a unit are the weights themselves, W_E W_in for a network with embeddings. Of a transformer, whose
    hidden units do not see the elements directly, the columns are those of its embedding.

    **Arguments:**

    - `run`: a record, a spec, an id, or the first digits of an id; `snapshots` in its spec says how often it is seen.
    - `store`: an open store, or the path of a store.
    - `data`: the folder of Cayley tables, for a group that is given by one.

    >>> import tempfile
    >>> from firstlight import runs
    >>> spec = {"task": {"group": "S3"}, "model": {"width": 8}, "steps": 6, "snapshots": 3, "recording": {"every": 2}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = runs.run(RunSpec.model_validate(spec), store=f"{folder}/runs.sqlite", progress="off")
    ...     history = feature_history(record, f"{folder}/runs.sqlite")
    >>> history.content.shape, history.steps.tolist(), history.no_orders
    ((3, 8, 3), [0, 4, 6], 'it needs an Abelian group, and S3 is not one')
    """
    if not isinstance(store, Store):
        with Store(store) as opened:
            return feature_history(run, opened, data)
    record = store.get_run(run.id if isinstance(run, RunRecord) else run)
    spec = record.spec
    if not isinstance(spec.task, GroupTask) or spec.task.encoding != "onehot":
        raise StoreError("features are read by the irreps of a group, on one-hot inputs; choose a run on such a task")
    if "final" not in record.weights:
        raise StoreError(f"run {record.id[:12]} is {record.status} and has no weights; they are stored when a run ends")
    steps, networks = _networks(record, store)
    group = groups.of_task(spec.task, data)
    column, weights, energy, reason = _reading(spec, group, networks[-1])
    W = np.stack([weights(network) for network in networks])
    units, alive = _chosen(W, group)
    content = np.stack([features.irrep_content(w[:, units], group) for w in W])
    embeddings = [np.asarray(network.embedding, float) for network in networks]
    waves, blocks = _waves(spec, networks, W[:, :, units], units, group)
    peaks = _peaks(energy, group)
    sizes = np.linalg.norm(W[:, :, units], axis=1)
    orders, crafted, no_orders = _orders(spec, networks, group)
    return FeatureHistory(
        steps=steps,
        irreps=tuple(part.label for part in group.real_components()),
        dims=tuple(part.dim for part in group.real_components()),
        elements=group.order,
        is_abelian=group.is_abelian,
        column=column,
        columns=W.shape[2],
        units=units,
        alive=alive,
        content=content,
        sizes=sizes,
        waves=waves,
        blocks=blocks,
        points=_points(embeddings, group),
        orbits=np.stack([features.orbit_shares(embedding, group) for embedding in embeddings]),
        energies=None if energy is None else np.stack([energy(_at_norm_one(w[:, units], energy)) for w in W]),
        peaks=peaks,
        no_energies=reason,
        frequencies=_frequencies(group) if orders is not None else (),
        orders=orders,
        crafted=crafted,
        no_orders=no_orders,
    )


def _networks(record: RunRecord, store: Store) -> tuple[np.ndarray, list[models.Model]]:
    """Return the stored steps with the network at each; the end comes last, once."""
    stored = [step for step in snapshot_steps(record.spec) if f"step-{step}" in record.weights and step < record.steps]
    last = load_model(record, store)
    networks = [models.import_parameters(last, store.weights(record, f"step-{step}")) for step in stored]
    return np.array([*stored, record.steps]), [*networks, last]


def _reading(
    spec: RunSpec, group: Group, model: models.Model
) -> tuple[str, Callable[[models.Model], np.ndarray], features.GroupEnergy | None, str]:
    """Return what a column is, the weights (mM, K) that are read, and the energy or the reason why there is none."""
    factors = getattr(spec.task, "factors", 2)
    if spec.model.kind == "transformer":
        reason = "the hidden units of a transformer do not see the elements directly"
        return "embedding dimension", lambda network: np.asarray(network.embedding, float), None, reason
    reason = "" if factors == 2 else "the energy is that of products of two elements"
    if spec.model.bias:
        reason = "the energy is that of hidden units without biases"
    energy = None if reason else features.GroupEnergy(group, spec.model.activation)
    return "hidden unit", lambda network: np.asarray(network.first, float), energy, reason


def _chosen(W: Float[np.ndarray, "S rows K"], group: Group) -> tuple[Int[np.ndarray, " U"], int]:
    """Return the units with the largest weights at the end, by their strongest irrep, and how many are alive."""
    most = int(np.clip(NUMBERS // (len(W) * (W.shape[1] + group.order)), FEWEST, UNITS))
    sizes = np.linalg.norm(W[-1], axis=0)
    largest = np.argsort(-sizes, kind="stable")[:most]
    content = features.irrep_content(W[-1][:, largest], group)
    is_alive = sizes[largest] >= ALIVE * sizes.max()
    order = np.lexsort((-content.max(axis=1), content.argmax(axis=1), ~is_alive))
    return largest[order], int(is_alive.sum())


def _waves(
    spec: RunSpec, networks: list[models.Model], W: np.ndarray, units: np.ndarray, group: Group
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the weights of units over the elements, by factor and, if the units feed the outputs, by output."""
    S, rows, U = W.shape
    factors = rows // group.order
    waves = W.transpose(0, 2, 1).reshape(S, U, factors, group.order)
    names = ("first element", "second element", *(f"element {place}" for place in range(3, factors + 1)))[:factors]
    if spec.model.kind == "transformer":
        return waves, ("embedding",) if factors == 1 else names
    if spec.model.kind == "deep":
        return waves, names
    outputs = np.stack([np.asarray(network.readout, float)[units] for network in networks])
    return np.concatenate([waves, outputs[:, :, None]], axis=2), (*names, "output")


def _points(embeddings: list[np.ndarray], group: Group) -> Float[np.ndarray, "S C M two"]:
    """Return the elements in the plane of each irrep in which they spread most at the end."""
    places = range(len(group.real_components()))
    all_points = np.zeros((len(embeddings), len(places), group.order, 2))
    for place in places:
        plane = features.widest_plane(features.component_points(embeddings[-1], group, place))
        for step, embedding in enumerate(embeddings):
            shown = features.component_points(embedding, group, place) @ plane
            all_points[step, place, :, : shown.shape[1]] = shown
    return all_points


def _at_norm_one(W: np.ndarray, energy: features.GroupEnergy) -> np.ndarray:
    """Divide units by their norms where the energy is homogeneous, as it is for a quadratic or homogeneous σ."""
    if energy.cross_term is None and models.activation(energy.activation).homogeneity is None:
        return W
    norms = np.linalg.norm(W, axis=0)
    return W / np.where(norms > 0, norms, 1.0)


def _peaks(energy: features.GroupEnergy | None, group: Group) -> Float[np.ndarray, " C"]:
    """Return E* of each irrep for a quadratic σ, c₂² times that of x²; NaN for other σ and the trivial irrep."""
    peaks = np.full(len(group.real_components()), np.nan)
    if energy is not None and energy.cross_term:
        peaks[1:] = [(0.5 * energy.cross_term) ** 2 * maximum.energy for maximum in features.maxima(group)]
    return peaks


def _orders(
    spec: RunSpec, networks: list[models.Model], group: Group
) -> tuple[Int[np.ndarray, "S F"] | None, tuple[str, ...], str]:
    """Return CoGO's census at every step and the names of the blocks at the end, or the reason why there is none."""
    from firstlight.theories import cogo

    if reason := lenses()["cogo"].reason_not_applicable(spec):
        return None, (), reason
    censuses = [cogo.order_census(np.asarray(n.first, float), np.asarray(n.last, float), group) for n in networks]
    names = tuple(block.name for block in censuses[-1].groups)
    return np.array([census.orders for census in censuses]), names, ""


def _frequencies(group: Group) -> tuple[str, ...]:
    from firstlight.theories import cogo

    pairs = cogo.frequencies(group)
    return tuple(pairs.label(k) for k in pairs.halves)
