"""The recorded curves of the judged runs, in one compressed file."""

from collections.abc import Mapping

import numpy as np

from firstlight.claims.beyond.checks.forecast_settings import FOLDER, ListName

COLUMNS = ("train_accuracy", "test_accuracy", "test_loss")


def read_curves(name: ListName) -> dict[int, dict[str, np.ndarray]]:
    """Return step, accuracies and test loss of the runs of a list, by position.

    >>> len(read_curves("second")) >= 200
    True
    """
    with np.load(FOLDER / f"forecast-{name}-curves.npz", allow_pickle=False) as file:
        places, lengths = file["places"], file["lengths"]
        columns = {column: file[column].astype(float) for column in ("step", *COLUMNS)}
    ends = np.cumsum(lengths)
    return {
        int(place): {column: values[end - length : end] for column, values in columns.items()}
        for place, length, end in zip(places, lengths, ends, strict=True)
    }


def write_curves(name: ListName, curves: Mapping[int, Mapping[str, np.ndarray]]) -> None:
    """Write the curves of a list; accuracies and losses in single precision."""
    joined = {c: np.concatenate([run[c] for run in curves.values()]).astype(np.float32) for c in COLUMNS}
    steps = np.concatenate([run["step"] for run in curves.values()]).astype(np.int32)
    lengths = np.array([len(run["step"]) for run in curves.values()], np.int32)
    places = np.array(list(curves), np.int32)
    path = FOLDER / f"forecast-{name}-curves.npz"
    np.savez_compressed(path, places=places, lengths=lengths, step=steps, **joined)  # type: ignore[arg-type]
