"""Preparation of training: check that the runs can share one program, and gather each run's data."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from firstlight.flow import _optimizer
from firstlight.flow._driver import Driver, Settings
from firstlight.flow._observe import Observable, TaskFacts
from firstlight.flow._program import Data, Plan, State, initial_state
from firstlight.flow._progress import Reporter
from firstlight.flow.population import population_is_cheaper
from firstlight.models import Model
from firstlight.records import Loss, Optimizer
from firstlight.tasks import IndexInputs, Split, Task

Method = Literal["auto", "dense", "gram"]


@dataclass(frozen=True)
class Lane:
    """One of several runs that share shapes.

    **Attributes:**

    - `seed`: draws the mini-batches, and names the run.
    - `model`: the network at the start.
    - `split`: training and test rows.
    - `optimizer`: lanes may differ in its learning rate and weight decay only.
    """

    seed: int
    model: Model
    split: Split
    optimizer: Optimizer


def make_plan(
    lanes: Sequence[Lane], loss: Loss, observables: tuple[Observable, ...], method: Method, batched: bool
) -> Plan:
    """Return what is compiled for all `lanes`, after checking that they fit together and fit their tasks."""
    first = lanes[0]
    task = first.split.task
    shared = [compiled_part(lane.optimizer) for lane in lanes]
    if len(set(shared)) > 1:
        raise ValueError(f"lanes may differ in learning_rate and weight_decay only, got {sorted(set(shared))}")
    _check_sizes(lanes)
    possible, reason = _population_possible(first, loss)
    if method == "gram" and not possible:
        raise ValueError(f"method='gram' needs {reason}; use method='dense' or 'auto'")
    width = first.model.last.shape[0]
    cheaper = possible and population_is_cheaper(task.outputs, width, len(first.split.train_targets))
    return Plan(
        static=eqx.filter(first.model, eqx.is_inexact_array, inverse=True),
        loss=loss,
        optimizer_json=shared[0],
        observables=observables,
        task=TaskFacts(task.name, task.outputs, task.group),
        population=method == "gram" or (method == "auto" and cheaper),
        batched=batched,
    )


def compiled_part(optimizer: Optimizer) -> str:
    """Return the optimizer as JSON without its learning rate and weight decay, which are not compiled in."""
    return optimizer.model_copy(update={"learning_rate": 1.0, "weight_decay": 0.0}).model_dump_json()


def _check_sizes(lanes: Sequence[Lane]) -> None:
    """Check that each model fits its task and that all lanes have the same structure."""
    structures = [
        jax.tree.map(lambda a: (a.shape, str(a.dtype)), eqx.filter(lane.model, eqx.is_array)) for lane in lanes
    ]
    for lane, structure in zip(lanes, structures, strict=True):
        model, task = lane.model, lane.split.task
        sizes = {
            "inputs": (model.first.shape[0], lane.split.train_inputs.dim),
            "outputs": (model.last.shape[1], task.outputs),
        }
        for what, (has, needs) in sizes.items():
            if has != needs:
                raise ValueError(
                    f"the model has {what} of dimension {has}, the task {task.name} {needs}; "
                    f"build the model with {what}={needs}, or with for_task"
                )
        if structure != structures[0]:
            raise ValueError(f"lanes must share one model structure, got {structures[0]} and {structure}")


def _population_possible(lane: Lane, loss: Loss) -> tuple[bool, str]:
    """Return whether loss and gradient have a Gram form, and the conditions that are not met."""
    task, units = lane.split.task, lane.model.hidden_units
    inputs = task.inputs
    onehot_pairs = isinstance(inputs, IndexInputs) and inputs.table is None and inputs.rows.shape[1] == 2
    checks = {
        "a group task": task.group is not None,
        "concatenated one-hot inputs of two factors": task.group is not None
        and onehot_pairs
        and inputs.dim == 2 * task.group.order,
        "the full table as training set (fraction=1), without label noise": lane.split.is_full and _is_clean(task),
        "a two-layer model without biases": units is not None and units.b is None and units.c is None,
        "a polynomial activation of degree at most 2": units is not None
        and units.activation.polynomial is not None
        and len(units.activation.polynomial) <= 3,
        "the mse loss": loss.kind == "mse",
        "full-batch training": lane.optimizer.batch_size is None,
    }
    missing = [what for what, holds in checks.items() if not holds]
    return not missing, ", ".join(missing)


def _is_clean(task: Task) -> bool:
    """Return whether the target of every pair is the product of its two elements."""
    if task.group is None or not isinstance(task.inputs, IndexInputs):
        return False
    M = task.group.order
    rows = np.asarray(task.inputs.rows)
    return len(rows) == M * M and bool(
        np.array_equal(task.group.table[rows[:, 0] % M, rows[:, 1] % M], np.asarray(task.targets))
    )


def lane_data(lane: Lane, steps: int, dtype: str) -> Data:
    """Return the arrays that a run reads, in the precision of the run."""

    def device(tree: Any) -> Any:
        floating = lambda a: jnp.issubdtype(jnp.asarray(a).dtype, jnp.floating)  # noqa: E731
        return jax.tree.map(lambda a: jnp.asarray(a, dtype) if floating(a) else jnp.asarray(a, jnp.int32), tree)

    split = lane.split
    return Data(
        device(split.train_inputs),
        device(split.train_targets),
        device(split.test_inputs),
        device(split.test_targets),
        _optimizer.rates(lane.optimizer, dtype),
        jax.random.fold_in(jax.random.key(lane.seed), 1),
        jnp.int32(steps),
    )


def _identity(plan: Plan, lanes: Sequence[Lane], settings: Settings, dtype: str) -> dict[str, Any]:
    """Return the facts that a checkpoint and the run that resumes it must share.

    The number of steps may grow, unless the schedule or the recorded steps depend on it.
    """
    data_digest, weights_digest = hashlib.sha256(), hashlib.sha256()
    for lane in lanes:
        split = lane.split
        for leaf in jax.tree.leaves(eqx.filter(lane.model, eqx.is_array)):
            weights_digest.update(np.ascontiguousarray(leaf).tobytes())
        for leaf in jax.tree.leaves((split.train_inputs, split.train_targets, split.test_inputs, split.test_targets)):
            data_digest.update(np.ascontiguousarray(leaf).tobytes())
    may_grow = plan.optimizer.schedule.shape == "constant" and settings.recording.points is None
    return {
        "task": plan.task.name,
        "data": data_digest.hexdigest()[:16],
        "model": str(jax.tree.map(lambda a: a.shape, eqx.filter(lanes[0].model, eqx.is_inexact_array))),
        "initial weights": weights_digest.hexdigest()[:16],
        "activation": str(getattr(lanes[0].model, "activation", "")),
        "loss": plan.loss.model_dump(mode="json"),
        "optimizer": [lane.optimizer.model_dump(mode="json") for lane in lanes],
        "seeds": [lane.seed for lane in lanes],
        "recording": settings.recording.model_dump(mode="json"),
        "steps": "any" if may_grow else settings.steps,
        "gram": plan.population,
        "batched": plan.batched,
        "dtype": dtype,
    }


def make_driver(
    plan: Plan,
    lanes: Sequence[Lane],
    members: Sequence[int],
    settings: Settings,
    dtype: str,
    checkpoint: str | Path | None,
    reporter: Reporter,
    on_record: Callable[[int, dict[str, Any]], None] | None,
) -> Driver:
    """Return the driver of the lanes with the indices `members`, ready to start at step 0."""
    group = [lanes[i] for i in members]
    states, data = [], []
    for lane in group:
        params = jax.tree.map(lambda a: jnp.asarray(a, dtype), eqx.filter(lane.model, eqx.is_inexact_array))
        states.append(initial_state(lane.optimizer, params))
        data.append(lane_data(lane, settings.steps, dtype))
    if plan.batched:
        pad = max(2 - len(group), 0)  # XLA compiles a batch of one to different arithmetic
        state: State = jax.tree.map(lambda *a: jnp.stack(a), *states, *states[:1] * pad)
        stacked: Data = jax.tree.map(lambda *a: jnp.stack(a), *data, *data[:1] * pad)
    else:
        state, stacked = states[0], data[0]
    names = "-".join(str(lane.seed) for lane in group[:4]) + ("-etc" if len(group) > 4 else "")
    path = None if checkpoint is None else Path(checkpoint) / f"lane-{members[0]}-seed-{names}.safetensors"
    return Driver(
        plan=plan,
        settings=settings,
        members=tuple(members),
        seeds=tuple(lane.seed for lane in group),
        state=state,
        data=stacked,
        path=path,
        identity=_identity(plan, group, settings, dtype) if path else {},
        reporter=reporter,
        on_record=on_record,
    )
