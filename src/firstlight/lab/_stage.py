"""The features of a run as plain values for the feature theatre; computed by a worker, remembered there."""

import base64
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from firstlight import runs
from firstlight.records import RunRecord, Store, StoreError, run_title

REMEMBERED = 6
"""Runs whose features the worker remembers; each takes about a megabyte."""


def theatre(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the theatre shows of a run, or `{"problem": …}` with what to do.

    **Arguments:**

    - `given`: `id` of the run; `store`, the path of the store; `data`, the folder of Cayley tables, or ''.
    """
    try:
        return _shown(given["store"], given["id"], given["data"])
    except StoreError as error:
        return {"problem": str(error)}


@lru_cache(maxsize=REMEMBERED)
def _shown(path: str, id: str, data: str) -> dict[str, Any]:
    with Store(path) as store:
        record = store.get_run(id)
        return pack(record, runs.feature_history(record, store, data or None))


def pack(record: RunRecord, history: runs.FeatureHistory) -> dict[str, Any]:
    """Return a history as JSON values: shares in 255ths, waves and points as 16-bit shares of their largest size."""
    waves, wave_sizes = _shares(history.waves, (0, 2, 3))
    points, point_sizes = _shares(history.points, (0, 2, 3))
    orders = history.orders
    return {
        "id": record.id,
        "title": f"{run_title(record.spec)}, seed {record.spec.seed}",
        "clock": record.spec.clock,
        "steps": history.steps.tolist(),
        "irreps": list(history.irreps),
        "dims": list(history.dims),
        "elements": history.elements,
        "abelian": history.is_abelian,
        "column": history.column,
        "columns": history.columns,
        "units": history.units.tolist(),
        "alive": history.alive,
        "content": _text(np.rint(255 * history.content).astype("u1")),
        "sizes": _text(history.sizes.astype("<f4")),
        "waves": _text(waves),
        "wave_sizes": wave_sizes,
        "blocks": list(history.blocks),
        "points": _text(points),
        "point_sizes": point_sizes,
        "orbits": history.orbits.round(3).tolist(),
        "energies": None if history.energies is None else _text(history.energies.astype("<f4")),
        "peaks": [None if math.isnan(peak) else peak for peak in history.peaks.tolist()],
        "no_energies": history.no_energies,
        "frequencies": list(history.frequencies),
        "orders": None if orders is None else orders.tolist(),
        "crafted": list(history.crafted),
        "no_orders": history.no_orders,
    }


def _shares(values: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, list[float]]:
    """Return values as 16-bit shares of the largest size along the other axis, and these sizes."""
    sizes = np.abs(values).max(axis=axes, keepdims=True)
    shares = np.rint(32767 * values / np.where(sizes > 0, sizes, 1.0)).astype("<i2")
    return shares, sizes.ravel().tolist()


def _text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
