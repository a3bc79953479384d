"""A run on disk: one safetensors file, written atomically, that says which run it belongs to."""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from firstlight.flow._program import State
from firstlight.records.files import write_atomically

FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, and why."""


def save_checkpoint(path: Path, state: State, lanes: Sequence[Mapping[str, Any]], identity: Mapping[str, Any]) -> None:
    """Write `state` and each lane's rows, snapshots and outcome; a crash leaves the old file or the new."""
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
    }
    payload = save({k: np.asarray(v, order="C") for k, v in arrays.items()}, header)
    try:
        write_atomically(path, payload)
    except OSError as error:
        # An earlier state, if there is one, is still there: resuming from it costs time and changes nothing.
        warnings.warn(f"the checkpoint {path} cannot be written ({error.strerror}); the run goes on", stacklevel=2)


def load_checkpoint(
    path: Path, like: State, params_like: Any, identity: Mapping[str, Any]
) -> tuple[State, list[dict[str, Any]]]:
    """Read what `save_checkpoint` wrote, refusing a file that belongs to another run."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read as a checkpoint ({error}); delete it to start anew") from error
    if header.get("format") != str(FORMAT):
        raise CheckpointError(f"{path} has checkpoint format {header.get('format')!r}; this version reads {FORMAT!r}")
    _same_run(path, json.loads(header["identity"]), identity)
    leaves, tree = jax.tree.flatten(like)
    state = tree.unflatten([jax.numpy.asarray(arrays[f"state.{i}"]) for i in range(len(leaves))])
    return state, [_lane(arrays, i, note, params_like) for i, note in enumerate(json.loads(header["lanes"]))]


def _lane(arrays: Mapping[str, np.ndarray], i: int, note: Mapping[str, Any], params_like: Any) -> dict[str, Any]:
    prefix = f"lane.{i}.row."
    columns = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    count = len(next(iter(columns.values()))) if columns else 0
    size, tree = len(jax.tree.leaves(params_like)), jax.tree.structure(params_like)

    def model(stem: str) -> Any:
        return tree.unflatten([arrays[f"lane.{i}.{stem}.{j}"] for j in range(size)])

    steps = {int(name.split(".")[3]) for name in arrays if name.startswith(f"lane.{i}.snapshot.")}
    return {
        "rows": [{name: column[r] for name, column in columns.items()} for r in range(count)],
        "snapshots": {step: model(f"snapshot.{step}") for step in sorted(steps)},
        "final": model("final") if f"lane.{i}.final.0" in arrays else None,
        "outcome": note["outcome"],
    }


def _same_run(path: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key in sorted(stored.keys() | wanted.keys()):
        if stored.get(key) != wanted.get(key):
            raise CheckpointError(
                f"{path} belongs to another run: its {key} is {stored.get(key)!r}, this run has {wanted.get(key)!r}; "
                "resume with the settings it was made with, or choose another checkpoint path"
            )
