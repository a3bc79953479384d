"""Trained networks, loaded from the store."""

import numpy as np

from firstlight import models
from firstlight.records import RunRecord, RunSpec, Store
from firstlight.runs._resolve import build_model
from firstlight.runs._run import StoreLike


def load_model(run: RunRecord | RunSpec | str, store: StoreLike, step: int | None = None) -> models.Model:
    """Return the network at the end of a run, or at the step of a snapshot.

    **Arguments:**

    - `run`: a record, a spec, an id, or the first digits of an id.
    - `store`: an open store, or the path of a store.
    - `step`: the step of a snapshot; the end of the run if not given.

    >>> import tempfile
    >>> from firstlight import runs
    >>> spec = RunSpec.model_validate({"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = runs.run(spec, store=f"{folder}/runs.sqlite", progress="off")
    ...     load_model(record, f"{folder}/runs.sqlite")
    TwoLayer(W=f32[10,8], V=f32[8,5], activation=Activation(name='quadratic'))
    """
    if not isinstance(store, Store):
        with Store(store) as opened:
            return load_model(run, opened, step)
    record = store.get_run(run.id if isinstance(run, RunRecord) else run)
    arrays = store.weights(record.id, "final" if step is None else f"step-{step}")
    first, last = _ends(arrays)
    model = build_model(record.spec.model, first.shape[0], last.shape[1], record.spec.seed)
    return models.import_parameters(model, arrays)


def _ends(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last weight matrix."""
    matrices = [array for array in arrays.values() if array.ndim == 2]
    if "V" in arrays:
        return arrays["W"], arrays["V"]
    layers = [arrays[f"weights.{i}"] for i in range(len(matrices))]
    return layers[0], layers[-1]
