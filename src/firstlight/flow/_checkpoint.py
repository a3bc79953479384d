"""Checkpoints: one safetensors file per group of lanes, written atomically, with the identity of its run."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Ge
from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from firstlight._files import write_atomically
from firstlight.flow._program import State
from firstlight.records import FileError, RunStatus
from firstlight.records._layout import Form, Tensor, check_tensors, filled, read_tensors, reading
from firstlight.records._parsing import parse_json
from firstlight.records._shorten import shorten

FORMAT = 1


class CheckpointError(FileError):
    """A checkpoint cannot be used; the message says why."""


def save_checkpoint(path: Path, state: State, lanes: Sequence[Mapping[str, Any]], identity: Mapping[str, Any]) -> None:
    """Write `state` and the rows, snapshots and outcome of each lane; a crash leaves the old file or the new."""
    arrays = {f"state.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
    notes = []
    for i, lane in enumerate(lanes):
        rows = lane["rows"]
        for name in rows[0] if rows else ():
            arrays[f"lane.{i}.row.{name}"] = np.stack([np.asarray(row[name]) for row in rows])
        for step, model in lane["snapshots"].items():
            for j, leaf in enumerate(jax.tree.leaves(model)):
                arrays[f"lane.{i}.snapshot.{step}.{j}"] = np.asarray(leaf)
        if lane["final"] is not None:
            for j, leaf in enumerate(jax.tree.leaves(lane["final"])):
                arrays[f"lane.{i}.final.{j}"] = np.asarray(leaf)
        notes.append({"outcome": lane["outcome"]})
    header = {
        "format": str(FORMAT),
        "identity": json.dumps(identity, sort_keys=True),
        "lanes": json.dumps(notes),
        "step": str(int(np.max(np.asarray(state.step)))),
    }
    payload = save({k: np.asarray(v, order="C") for k, v in arrays.items()}, header)
    try:
        write_atomically(path, payload)
    except OSError as error:
        # An earlier checkpoint still exists: resuming from it costs time but gives the same run.
        warnings.warn(f"the checkpoint {path} cannot be written ({error.strerror}); the run continues", stacklevel=2)


def checkpoint_step(path: Path) -> int | None:
    """Return the step at which a checkpoint was written; None if the file is unreadable or does not say."""
    try:
        with safe_open(path, framework="numpy") as file:
            step = (file.metadata() or {}).get("step", "")
    except (SafetensorError, OSError):
        return None
    return int(step) if step.isdecimal() else None


def load_checkpoint(
    path: Path,
    like: State,
    params_like: Any,
    identity: Mapping[str, Any],
    columns: Mapping[str, tuple[int, ...]],
    lanes: int,
) -> tuple[State, list[dict[str, Any]]]:
    """Read a checkpoint; raise `CheckpointError` if it belongs to another run or is damaged.

    **Arguments:**

    - `path`: the file.
    - `like`: a state of this run, for types and shapes.
    - `params_like`: parameters of one lane, for types and shapes.
    - `identity`: facts that the file must agree with.
    - `columns`: observed name → its shape in one lane.
    - `lanes`: number of lanes.
    """
    with _refusing(path):
        metadata, arrays = read_tensors(path)
        if metadata.get("format") != str(FORMAT):
            stored = shorten(repr(metadata.get("format")), 40)
            raise CheckpointError(f"{path} has checkpoint format {stored}; this version reads {str(FORMAT)!r}")
        stored = parse_json(metadata.get("identity", ""))
        if not isinstance(stored, dict):
            raise ValueError(f"its identity must be a table; got {type(stored).__name__}")
        _same_run(path, stored, identity)
        notes = filled(_Notes, {"lanes": parse_json(metadata.get("lanes", ""))}).lanes
        if len(notes) != lanes:
            raise ValueError(f"it must hold {lanes} lanes; got {len(notes)}")
        check_tensors(arrays, _declared(arrays, like, params_like, notes, columns))
        leaves, tree = jax.tree.flatten(like)
        state = tree.unflatten([jax.numpy.asarray(arrays[f"state.{i}"]) for i in range(len(leaves))])
        return state, [_lane(arrays, i, note, params_like) for i, note in enumerate(notes)]


class _Note(Form):
    """How a lane ended: status, step and message, or null while it is running."""

    outcome: Annotated[tuple[RunStatus, Annotated[int, Ge(0)], str], Field(strict=False)] | None


class _Notes(Form):
    """The notes on all lanes in the header."""

    lanes: list[_Note]


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn errors of reading into `CheckpointError`, which says how to go on without the file."""
    try:
        with reading(path, "a checkpoint of this run", "delete it to start the run again"):
            yield
    except FileError as error:
        raise CheckpointError(str(error)) from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read as a checkpoint ({error}); delete it to start again") from error


def _declared(
    arrays: Mapping[str, np.ndarray],
    like: State,
    params_like: Any,
    notes: Sequence[_Note],
    columns: Mapping[str, tuple[int, ...]],
) -> dict[str, Tensor]:
    """Return the arrays that a checkpoint of this run must hold; the file decides the numbers of rows and snapshots."""
    declared = {f"state.{i}": _tensor(leaf) for i, leaf in enumerate(jax.tree.leaves(like))}
    step, bad = sorted(declared, key=lambda name: int(name.removeprefix("state.")))[-2:]
    declared[step], declared[bad] = replace(declared[step], low=0), replace(declared[bad], low=-1)
    model = [_tensor(leaf) for leaf in jax.tree.leaves(params_like)]
    numbers = ("b", "i", "u", "f")
    for i, note in enumerate(notes):
        prefix = f"lane.{i}."
        if any(name.startswith(f"{prefix}row.") for name in arrays):
            declared[f"{prefix}row.step"] = Tensor((f"rows {i}",), ("i",), low=0)
            for name, shape in columns.items():
                declared[f"{prefix}row.{name}"] = Tensor((f"rows {i}", *shape), numbers, finite=False)
        stems = [f"snapshot.{step}" for step in _snapshots(arrays, i)]
        stems += ["final"] if note.outcome is not None else []
        declared |= {f"{prefix}{stem}.{j}": tensor for stem in stems for j, tensor in enumerate(model)}
    return declared


def _tensor(leaf: Any) -> Tensor:
    return Tensor(np.shape(leaf), (np.asarray(leaf).dtype.name,), finite=False)


def _snapshots(arrays: Mapping[str, np.ndarray], i: int) -> list[int]:
    steps = (name.split(".")[3] for name in arrays if name.startswith(f"lane.{i}.snapshot."))
    return sorted({int(step) for step in steps if step.isdecimal() and step.isascii()})


def _lane(arrays: Mapping[str, np.ndarray], i: int, note: _Note, params_like: Any) -> dict[str, Any]:
    prefix = f"lane.{i}.row."
    columns = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    count = len(next(iter(columns.values()))) if columns else 0
    size, tree = len(jax.tree.leaves(params_like)), jax.tree.structure(params_like)

    def model(stem: str) -> Any:
        return tree.unflatten([arrays[f"lane.{i}.{stem}.{j}"] for j in range(size)])

    return {
        "rows": [{name: column[r] for name, column in columns.items()} for r in range(count)],
        "snapshots": {step: model(f"snapshot.{step}") for step in _snapshots(arrays, i)},
        "final": model("final") if note.outcome is not None else None,
        "outcome": note.outcome,
    }


def _same_run(path: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key in sorted(stored.keys() | wanted.keys()):
        if stored.get(key) != wanted.get(key):
            raise CheckpointError(
                f"{path} belongs to another run: its {shorten(key, 80)} is {shorten(repr(stored.get(key)))}, "
                f"this run has {shorten(repr(wanted.get(key)))}; "
                "resume with the settings it was made with, or choose another checkpoint path"
            )
