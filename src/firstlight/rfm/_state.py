"""The state of an estimator as plain containers, so that skops and other safe readers know all types in it."""

from dataclasses import asdict
from typing import Any

from firstlight.rfm._encoding.columns import Category, Date, Ignored, Number
from firstlight.rfm._encoding.encoding import Encoding
from firstlight.rfm._intervals import Residuals
from firstlight.rfm._labels import Labels
from firstlight.rfm._solvers.kernels import KERNELS, Kernel
from firstlight.rfm._solvers.leaves import Leaves
from firstlight.rfm._tables.table import Scaling

_PAIRS: dict[str, tuple[type, tuple[str, str]]] = {
    "_scaling": (Scaling, ("shift", "spread")),
    "_targets": (Scaling, ("shift", "spread")),
    "_residuals": (Residuals, ("sizes", "levels")),
}
_FRAMES = ("history_", "calibration_")
_COLUMNS: dict[str, Any] = {str(made.kind): made for made in (Number, Category, Date, Ignored)}


def rows_of(encoding: Encoding) -> list[dict[str, Any]]:
    """Return each column of an encoding as its kind and fields."""
    return [{"kind": column.kind} | asdict(column) for column in encoding.columns]


def encoding_of(rows: list[dict[str, Any]]) -> Encoding:
    """Invert `rows_of`."""
    columns = [{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
    return Encoding(tuple(_COLUMNS[str(row.pop("kind"))](**row) for row in columns))


def plain(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state with lists, dicts, numbers and arrays in place of frames and classes of this package."""
    state = dict(state)
    for name, (_, fields) in _PAIRS.items():
        if name in state:
            state[name] = [getattr(state[name], field) for field in fields]
    for name in _FRAMES:
        if name in state:
            state[name] = state[name].to_dict("list")
    if "_encoding" in state:
        state["_encoding"] = rows_of(state["_encoding"])
    if "_labels" in state:
        state["_labels"] = [[labels.classes, labels.prior] for labels in state["_labels"]]
    if state.get("_leaves") is not None:
        state["_leaves"] = state["_leaves"].arrays()
    kernel: Kernel | None = state.get("kernel_")
    if kernel is not None and KERNELS.get(type(kernel).__name__.lower()) is type(kernel):
        state["kernel_"] = [type(kernel).__name__.lower(), float(kernel.bandwidth)]
    return state


def restored(state: dict[str, Any]) -> dict[str, Any]:
    """Invert `plain`."""
    import pandas as pd

    state = dict(state)
    for name, (made, _) in _PAIRS.items():
        if name in state:
            state[name] = made(*state[name])
    for name in _FRAMES:
        if name in state:
            state[name] = pd.DataFrame(state[name])
    if "_encoding" in state:
        state["_encoding"] = encoding_of(state["_encoding"])
    if "_labels" in state:
        state["_labels"] = tuple(Labels(*pair) for pair in state["_labels"])
    if state.get("_leaves") is not None:
        state["_leaves"] = Leaves.from_arrays(state["_leaves"])
    if isinstance(state.get("kernel_"), list):
        name, bandwidth = state["kernel_"]
        state["kernel_"] = KERNELS[name](bandwidth)
    return state
