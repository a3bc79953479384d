"""Build the objects that a spec names; a `SpecError` says which name is unknown."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import flow, groups, models, tasks
from firstlight.records import (
    ArraysTask,
    DeepModel,
    EmbeddingModel,
    GroupTask,
    ModelSpec,
    ParityTask,
    RunSpec,
    SpecError,
    TransformerModel,
    digest_arrays,
    pin_arrays,
    run_id,
)
from firstlight.records._identity import find_arrays, load_arrays
from firstlight.runs._lenses import observables, select_lenses
from firstlight.runs._limits import check_sizes
from firstlight.runs._names import check_layer_rates, check_stop


@dataclass(frozen=True)
class Resolved:
    """A spec with its task, split, model and lenses, ready to train."""

    spec: RunSpec
    split: tasks.Split
    model: models.Model
    lenses: tuple[flow.Lens, ...]

    @property
    def task(self) -> tasks.Task:
        """The task to learn."""
        return self.split.task

    @property
    def observables(self) -> tuple[flow.Observable, ...]:
        """The observables measured at each recorded step."""
        return observables(self.lenses)

    @property
    def snapshots(self) -> tuple[int, ...]:
        """The recorded steps whose weights are kept."""
        return snapshot_steps(self.spec)

    @property
    def lane(self) -> flow.Lane:
        """The run as a lane of the training engine."""
        return flow.Lane(self.spec.seed, self.model, self.split, self.spec.optimizer)

    @cached_property
    def id(self) -> str:
        """The identity of the run."""
        return run_id(self.spec)


def resolve(
    spec: RunSpec,
    data: str | os.PathLike[str] | None = None,
    *,
    allow_large: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> Resolved:
    """Build the task, split, model and lenses that a spec names; a `SpecError` says which cannot be built, and why.

    A run that does not fit into memory or on the disk is refused before anything is built, see `estimate`.

    **Arguments:**

    - `data`: the folder of arrays, searched after the current folder; by default the environment variable
      `FIRSTLIGHT_DATA`.
    - `allow_large`: accept also a run that does not fit.
    - `store`: where the run will be stored, to compare its size with the free disk.

    >>> spec = {"task": {"group": "Z5"}, "model": {"width": 8}, "snapshots": 2}
    >>> run = resolve(RunSpec.model_validate(spec))
    >>> run.split, run.model.W.shape, run.snapshots
    (Split('Z5': 10 training rows, 15 test rows), (10, 8), (0, 500))
    """
    check(spec, data)
    with _blame("task"):
        check_sizes(spec, data, allow_large=allow_large, store=store)
    spec = pin_arrays(spec, data)
    task = _task(spec, data)
    with _blame("task.split"):
        split = task.split(**spec.task.split.model_dump(), seed=spec.seed)
    with _blame("loss"):
        _try_loss(spec.loss.model_dump_json(), task.outputs, task.is_classification)
    with _blame("model"):
        model = build_model(spec.model, task.inputs.dim, task.outputs, spec.seed)
    run = Resolved(spec, split, model, select_lenses(spec))
    check_stop(spec, split, model, run.observables)
    return run


def check(spec: RunSpec, data: str | os.PathLike[str] | None = None) -> None:
    """Refuse unknown names in a spec, without building anything large.

    **Arguments:**

    - `spec`: the spec.
    - `data`: the folder of files that the spec names, as in `resolve`.

    >>> check(RunSpec.model_validate({"model": {"activation": "quadratc"}}))
    Traceback (most recent call last):
    firstlight.records._explain.SpecError: model.activation: unknown activation 'quadratc';
      did you mean 'quadratic'? ...
    """
    problems: list[str] = []
    try:
        spec = _with_group(spec, data)
        attempts = (_check_activation, _check_tokens, _check_rates, select_lenses)
    except SpecError as error:  # lenses cannot be asked about a group that is not there
        problems += error.problems
        attempts = (_check_activation, _check_tokens, _check_rates)
    for attempt in attempts:
        try:
            attempt(spec)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)


def build_model(spec: ModelSpec, inputs: int, outputs: int, seed: int) -> models.Model:
    """Return the network that a spec describes, with weights drawn by `seed`."""
    key = jax.random.key(seed)
    fields: dict[str, Any] = spec.model_dump(exclude={"kind"})
    return _NETWORKS[spec.kind].init(key, inputs=inputs, outputs=outputs, **fields)


_NETWORKS: dict[str, Any] = {
    "two_layer": models.TwoLayer,
    "deep": models.Deep,
    "transformer": models.Transformer,
    "embedding": models.EmbeddingMLP,
}
"""The class of each kind of model; the fields of the spec are the arguments of its `init`."""


def snapshot_steps(spec: RunSpec) -> tuple[int, ...]:
    """Return `spec.snapshots` recorded steps, evenly spread, with the first and the last among them.

    A single snapshot is the first step, since the final weights are stored in any case.

    >>> snapshot_steps(RunSpec.model_validate({"steps": 40, "snapshots": 3, "recording": {"every": 10}}))
    (0, 20, 40)
    """
    steps = spec.recording.steps(spec.steps)
    if spec.snapshots >= steps.at_most:
        return tuple(steps)
    places = np.linspace(0, len(steps) - 1, spec.snapshots).round().astype(int) if spec.snapshots else ()
    return tuple(steps[int(place)] for place in np.unique(places))


@contextmanager
def _blame(field: str) -> Iterator[None]:
    try:
        yield
    except SpecError:
        raise
    except (ValueError, MemoryError) as error:
        raise SpecError([f"{field}: {str(error) or 'there is not enough memory'}"]) from None


def _with_group(spec: RunSpec, data: str | os.PathLike[str] | None) -> RunSpec:
    """Return the spec with its Cayley table pinned; a `SpecError` says which name is unknown or which law fails."""
    if isinstance(spec.task, GroupTask):
        spec = pin_arrays(spec, data)
        task: Any = spec.task
        with _blame("task.group" if task.table is None else "task.table"):
            groups.order_of_task(task, data)
    return spec


def _check_activation(spec: RunSpec) -> None:
    with _blame("model.activation"):
        models.activation(spec.model.activation)


def _check_tokens(spec: RunSpec) -> None:
    """Refuse a network that reads tokens for a task without tokens, or one that cannot see what it must learn."""
    model, task = spec.model, spec.task
    if not isinstance(model, TransformerModel | EmbeddingModel):
        return
    encodings = ("onehot",) if isinstance(model, TransformerModel) else ("onehot", "summed")
    if not isinstance(task, GroupTask) or task.encoding not in encodings:
        given = task.encoding if isinstance(task, GroupTask) else f"a task of kind {task.kind}"
        needed = f'a task of kind "group" in {" or ".join(encodings)} encoding, one token per factor'
        raise SpecError([f'model.kind: "{model.kind}" needs {needed}; got {given}'])
    unordered = task.encoding == "summed" or (
        isinstance(model, EmbeddingModel) and model.combine == "sum" and model.tied
    )
    with _blame("task.group"):
        commutes = not unordered or groups.of_task(task).is_abelian
    if task.encoding == "onehot" and not commutes:
        raise SpecError(
            [
                f"model.tied: the sum of tied embeddings does not see the order of the factors, and {task.group} is "
                'not Abelian; set model.tied = false or model.combine = "concat"'
            ]
        )


def _check_rates(spec: RunSpec) -> None:
    if spec.optimizer.layer_rates:
        # The names of parameters do not depend on sizes or on σ, which may be the next mistake in the list.
        model = spec.model
        small: dict[str, Any] = {"widths": (1,) * len(model.widths)} if isinstance(model, DeepModel) else {"width": 1}
        small |= {"heads": 1, "mlp": min(model.mlp, 1)} if isinstance(model, TransformerModel) else {}
        small |= {"embedding": 1} if isinstance(model, EmbeddingModel) else {}
        model = model.model_copy(update={**small, "activation": "linear"})
        check_layer_rates(spec, build_model(model, inputs=2, outputs=1, seed=0))


@lru_cache(maxsize=32)
def _try_loss(spec: str, outputs: int, classes: bool) -> None:
    loss = flow.Loss.model_validate_json(spec)
    o = jax.ShapeDtypeStruct((1, outputs), jnp.float32)
    y = jax.ShapeDtypeStruct((1,), jnp.int32) if classes else o
    jax.eval_shape(lambda o, y: flow.objective(o, y, loss), o, y)


def _task(spec: RunSpec, data: str | os.PathLike[str] | None) -> tasks.Task:
    task = spec.task
    with _blame("task"):
        if isinstance(task, GroupTask):
            group = groups.of_task(task, data)
            return _group_task(task.model_dump_json(), group, spec.seed if task.label_noise else 0)
        if isinstance(task, ParityTask):
            return tasks.sparse_parity(task.dimension, task.degree, task.samples, seed=spec.seed)
        return _arrays_task(task, data)


@lru_cache(maxsize=8)
def _group_task(spec: str, group: groups.Group, noise_seed: int) -> tasks.Task:
    # The seeds of a sweep share the table of all pairs, the most expensive part of a task.
    task = GroupTask.model_validate_json(spec)
    return tasks.group_task(
        group,
        factors=task.factors,
        encoding=task.encoding,
        template=task.template,
        label_noise=task.label_noise,
        noise_seed=noise_seed,
    )


def _arrays_task(task: ArraysTask, data: str | os.PathLike[str] | None) -> tasks.Task:
    path = find_arrays(task.path, data)
    arrays = load_arrays(path)
    if (digest := digest_arrays(arrays)) != task.digest:
        problem = f"the arrays in {task.path!r} have digest {digest[:12]}…, the spec names {task.digest[:12]}…"
        raise SpecError([f"task.digest: {problem}; give the file it was written for, or leave digest out"])
    if missing := {"X", "y"} - arrays.keys():
        raise SpecError([f"task.path: {task.path!r} must hold X and y; it lacks {', '.join(sorted(missing))}"])
    return tasks.from_arrays(arrays["X"], arrays["y"], name=path.stem)
