"""Trained networks, loaded from the store."""

import numpy as np

from firstlight import models
from firstlight.records import EmbeddingModel, GroupTask, RunRecord, RunSpec, Store, TransformerModel
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
    inputs, outputs = _sizes(record.spec, arrays)
    model = build_model(record.spec.model, inputs, outputs, record.spec.seed)
    return models.import_parameters(model, arrays)


def _sizes(spec: RunSpec, arrays: dict[str, np.ndarray]) -> tuple[int, int]:
    """Return the input dimension and the number of outputs of stored weights."""
    if isinstance(spec.model, TransformerModel | EmbeddingModel):
        outputs = arrays["W_U" if isinstance(spec.model, TransformerModel) else "V"].shape[1]
        summed = isinstance(spec.task, GroupTask) and spec.task.encoding == "summed"
        factors = spec.task.factors if isinstance(spec.task, GroupTask) else 2
        return (1 if summed else factors) * outputs, outputs
    if "V" in arrays:
        return arrays["W"].shape[0], arrays["V"].shape[1]
    matrices = [array for array in arrays.values() if array.ndim == 2]
    return arrays["weights.0"].shape[0], arrays[f"weights.{len(matrices) - 1}"].shape[1]
