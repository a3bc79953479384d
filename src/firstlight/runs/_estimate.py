"""The cost of a run, estimated from its spec alone: memory, recorded rows, bytes on disk and time.

Nothing is built: sizes follow from the order of the group, the widths and the counts in the spec. Memory is the
peak beyond what Python and JAX take themselves (about 0.4 GB) and is right to a factor of two; time is right to a
factor of three on a quiet machine.
"""

import functools
import itertools
import math
import os
import time
from typing import NamedTuple

import numpy as np

from firstlight import groups, models, tasks
from firstlight._threads import one_blas_thread
from firstlight.flow.population import population_is_cheaper
from firstlight.records import (
    DeepModel,
    EmbeddingModel,
    GroupTask,
    ModelSpec,
    ParityTask,
    RunSpec,
    TransformerModel,
    TwoLayerModel,
)
from firstlight.records._base import Frozen
from firstlight.runs._arrays import array_shapes

_FLOAT = 4  # runs train in float32
_STATES = {"sgd": 0, "adam": 2, "adamw": 2, "muon": 2}
"""Arrays per weight in the state of an optimizer."""

_BLOCK = 256
"""Hidden units that a two-layer network evaluates at a time, at most."""

_NEWTON_SCHULZ = 5  # steps of optax's Muon
_FIGURE_HEADERS = 4096
"""Bytes of titles, labels and layout in the figures of one lens."""

_LENS_NUMBERS = 16
_COMPILE_SECONDS, _LAYER_SECONDS = 2.0, 0.2
_STEP_SECONDS, _ROW_SECONDS = 3e-5, 1e-3
_ENTRY_SECONDS = 5e-7  # to check an entry of a Cayley table
_CORES = 2  # a step rarely keeps more busy, and the workers of a sweep share them
_BANDWIDTH = 5e9  # bytes a second, for what is read and written once a step


class Estimate(Frozen):
    """The estimated cost of a run.

    `memory` has the bytes of each part at the run's peak; `rows` and `numbers` what is recorded, how often and how
    many numbers each time; `disk` the bytes in the store at the end, and `checkpoint` those beside it meanwhile.
    `seconds` includes `start`, the seconds to compile, which runs of one program share.
    """

    memory: dict[str, float]
    rows: int
    numbers: int
    disk: float
    checkpoint: float
    seconds: float
    start: float = 0.0

    @property
    def bytes(self) -> float:
        """Memory of all parts together."""
        return sum(self.memory.values())


class Sizes(NamedTuple):
    """The counts everything else follows from: samples, training and test rows, dimensions, shapes of the layers."""

    samples: int
    train: int
    test: int
    dim: int
    outputs: int
    gathered: bool
    building: float
    layers: tuple[tuple[int, int], ...]
    weights: int
    matrices: tuple[tuple[int, int], ...]


def estimate(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> Estimate:
    """Estimate memory, recorded rows, bytes on disk and seconds of a run, before anything is allocated.

    >>> small = estimate(RunSpec.model_validate({"task": {"group": "Z7"}, "model": {"width": 8}, "steps": 100}))
    >>> small.rows, small.numbers, small.bytes < 1e6
    (11, 4, True)
    >>> huge = estimate(RunSpec.model_validate({"model": {"width": 10**8}}))
    >>> huge.bytes > 1e12, max(huge.memory, key=huge.memory.get)
    (True, 'weights')
    """
    sizes = sizes_of(spec, data)
    rows = spec.recording.steps(spec.steps).at_most
    numbers = 4 + (_LENS_NUMBERS + sizes.outputs) * len(set(spec.lenses))
    snapshots = min(spec.snapshots, rows)
    state = (1 + _states(spec)) * sizes.weights * _FLOAT
    table = rows * numbers * 8.0
    figures = table + _FIGURE_HEADERS * (1 + len(set(spec.lenses)))  # they draw the columns of the table
    return Estimate(
        memory=_memory(spec, sizes, rows, numbers, snapshots),
        rows=rows,
        numbers=numbers,
        disk=table + figures + (1 + snapshots) * sizes.weights * _FLOAT,
        checkpoint=state + table + snapshots * sizes.weights * _FLOAT,
        seconds=_seconds(spec, sizes, rows),
        start=_start(spec, sizes),
    )


def step_flops(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> float:
    """Return the floating-point operations of one training step: the matrix products, and the optimizer's update.

    >>> adam, muon = (step_flops(RunSpec.model_validate({"optimizer": {"name": name}})) for name in ("adam", "muon"))
    >>> muon > adam > 1e9
    True
    """
    sizes = sizes_of(spec, data)
    elementwise = (4.0 + 6.0 * _states(spec)) * sizes.weights
    return _flops(spec, sizes, _batch(spec, sizes)) + _update_flops(spec, sizes) + elementwise


def sizes_of(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> Sizes:
    """Return the sizes of a spec's task and model; a `ValueError` if the group is unknown or has too many tuples."""
    task = spec.task
    gathered = isinstance(task, GroupTask)
    if isinstance(task, GroupTask):
        order = groups.order_of_task(task, data)
        tuples = tasks.tuple_count(order, task.factors, task.group)
        dim, outputs, samples = (order if task.encoding == "summed" else task.factors * order), order, tuples
        targets = 8.0 * order if task.encoding == "template" else 8.0
        building = 24.0 * order**2 + tuples * (48.0 * task.factors + 2 * targets + 48)
    elif isinstance(task, ParityTask):
        samples, dim, outputs = task.samples, task.dimension, 2
        building = 24.0 * samples * dim
    else:
        samples, dim, outputs, stored = array_shapes(task, data)
        building = 3.0 * stored + 12.0 * samples * dim
    share = task.split.fraction
    train = min(task.split.count or 0, samples) if share is None else math.floor(share * samples * (1 + 1e-12))
    shapes = _shapes(spec.model, dim, outputs)
    weights = sum(m * n for m, n in shapes.matrices) + shapes.biases
    sizes = samples, train, samples - train, dim, outputs, gathered, building, shapes.layers, weights
    return Sizes(*sizes, shapes.matrices)


class _Shapes(NamedTuple):
    """Shapes of the products with every row, shapes of all weight matrices, and the number of biases."""

    layers: tuple[tuple[int, int], ...]
    matrices: tuple[tuple[int, int], ...]
    biases: int


def _shapes(model: ModelSpec, dim: int, outputs: int) -> _Shapes:
    factors = dim // max(outputs, 1)
    if isinstance(model, TransformerModel):
        d, K = model.width, model.mlp
        after = (*(((d, K), (K, d)) if K else ()), (d, outputs))
        tokens = ((outputs + 1, d), (factors + 1, d))
        return _Shapes(((dim, d), (d, d), *after), (*tokens, *((d, d),) * 4, *after), (K + d) * bool(model.bias and K))
    hidden = model.widths if isinstance(model, DeepModel) else (model.width,)
    layers = tuple(itertools.pairwise((dim, *hidden, outputs)))
    matrices = layers
    if isinstance(model, EmbeddingModel):
        e = model.embedding
        rows = e * (factors if model.combine == "concat" else 1)
        matrices = ((outputs if model.tied else dim, e), (rows, model.width), *layers[1:])
    return _Shapes(layers, matrices, model.bias * sum(n for _, n in layers))


def _states(spec: RunSpec) -> int:
    return 1 if spec.optimizer.name == "sgd" and spec.optimizer.momentum else _STATES[spec.optimizer.name]


def _batch(spec: RunSpec, sizes: Sizes) -> int:
    return min(spec.optimizer.batch_size or sizes.train, sizes.train)


def _memory(spec: RunSpec, sizes: Sizes, rows: int, numbers: int, snapshots: int) -> dict[str, float]:
    batch, observed = _batch(spec, sizes), max(sizes.train, sizes.test)
    widths = [n for _, n in sizes.layers[:-1]]
    in_blocks = isinstance(spec.model, TwoLayerModel | EmbeddingModel)
    alive = min(widths[0], _BLOCK) if in_blocks else sum(widths)
    # The drawn model, gradients and the blocks they are cut into; the state before, after and at the last record.
    copies = 5.0 + 3.0 * (1 + _states(spec))
    parts = {
        "data": sizes.building,
        "weights": copies * sizes.weights * _FLOAT,
        "outputs": 3.0 * (batch + observed) * sizes.outputs * _FLOAT,
        "hidden units": 3.0 * max(batch, observed) * alive * _FLOAT,
        "recorded rows": rows * (300.0 + 60.0 * numbers),
        "snapshots": 3.0 * snapshots * sizes.weights * _FLOAT,
    }
    if spec.lenses:
        square = sizes.train**2 if "manifold" in spec.lenses and sizes.train <= widths[-1] else 0
        parts["lenses"] = 3.0 * _FLOAT * (sizes.train * sum(widths) + square)
    return {name: float(size) for name, size in parts.items() if size}


def _flops(spec: RunSpec, sizes: Sizes, rows: int) -> float:
    """Of the matrix products of one forward and backward pass: two flops for each of three products."""
    products = sizes.layers[1:] if sizes.gathered else sizes.layers
    flops = 6.0 * rows * sum(m * n for m, n in products)
    if _is_population(spec, sizes):
        M, K = sizes.outputs, sizes.layers[0][1]
        flops = min(flops, 2.0 * (6 * K**2 * M + 12 * K * M**2))
    return flops


def _update_flops(spec: RunSpec, sizes: Sizes) -> float:
    """Of the matrix products of one update: Muon's Newton–Schulz steps X ↦ (a + bXXᵀ + c(XXᵀ)²)X on each matrix."""
    if spec.optimizer.name != "muon":
        return 0.0
    sides = [sorted(matrix) for matrix in sizes.matrices]
    return sum(_NEWTON_SCHULZ * (4.0 * short**2 * long + 2.0 * short**3) for short, long in sides)


def _is_population(spec: RunSpec, sizes: Sizes) -> bool:
    if not isinstance(spec.task, GroupTask) or not isinstance(spec.model, TwoLayerModel) or sizes.test:
        return False
    polynomial = models.activation(spec.model.activation).polynomial
    return (
        (spec.task.factors, spec.task.encoding, spec.task.label_noise, spec.loss.kind) == (2, "onehot", 0.0, "mse")
        and not spec.model.bias
        and spec.optimizer.batch_size is None
        and polynomial is not None
        and len(polynomial) <= 3
        and population_is_cheaper(sizes.outputs, spec.model.width, sizes.train)
    )


def _seconds(spec: RunSpec, sizes: Sizes, rows: int) -> float:
    """Steps at the rate of a matrix product, weights and hidden units moved once, and a constant for each step."""
    batch, rate = _batch(spec, sizes), flops_per_second()
    hidden = sum(n for _, n in sizes.layers[:-1])
    moved = _FLOAT * (8.0 * (2 + _states(spec)) * sizes.weights + 2.0 * batch * hidden)
    flops = _flops(spec, sizes, batch) + _update_flops(spec, sizes)
    step = flops / rate + moved / _BANDWIDTH + _STEP_SECONDS
    observed = _flops(spec, sizes, sizes.samples) / (3 * rate) + _ROW_SECONDS
    looks = len(set(spec.lenses)) * 10 * step
    order = sizes.outputs if isinstance(spec.task, GroupTask) else 0
    build = order**2 * _ENTRY_SECONDS + sizes.building / _BANDWIDTH + 4 * sizes.weights * _FLOAT / _BANDWIDTH
    return _start(spec, sizes) + build + spec.steps * step + rows * (observed + looks)


def _start(spec: RunSpec, sizes: Sizes) -> float:
    return _COMPILE_SECONDS * (1 + len(set(spec.lenses))) + _LAYER_SECONDS * len(sizes.layers)


@functools.cache
def flops_per_second() -> float:
    """The rate of float32 matrix products in a run, measured once in some twenty milliseconds.

    Several threads of BLAS wait for each other on a busy machine, which cost a factor of 15: measure one.
    """
    matrix = np.ones((512, 512), np.float32)
    best = math.inf
    with one_blas_thread():
        for _ in range(8):
            start = time.perf_counter()
            np.matmul(matrix, matrix)
            best = min(best, time.perf_counter() - start)
    return min(os.cpu_count() or 1, _CORES) * 2 * 512**3 / max(best, 1e-6)
