"""Figures as a field of a record, with an exact JSON round trip."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from firstlight.records.figure import FigureData


def figure_to_json(figure: FigureData) -> dict[str, Any]:
    """Return the figure as plain values: its header, and each array as a flat list of numbers."""
    return {"header": figure.header(), "arrays": {name: a.ravel().tolist() for name, a in figure.arrays.items()}}


def figure_from_json(value: Any) -> FigureData:
    """Return a figure, given as a figure or as the value of `figure_to_json`.

    >>> from firstlight.records.figure import Series, curves
    >>> figure = curves([Series("loss", [0, 1], [float("nan"), 0.5])], x="step", y="loss")
    >>> figure_from_json(figure_to_json(figure)) == figure
    True
    """
    if isinstance(value, FigureData):
        return _with_plain_nans(value)
    if not isinstance(value, Mapping) or value.keys() != {"header", "arrays"}:
        raise ValueError(f"a figure has header and arrays; got {type(value).__name__}")
    try:
        forms = value["header"]["arrays"]
        arrays = {name: _array(numbers, **forms[name]) for name, numbers in value["arrays"].items()}
        return FigureData.from_parts(value["header"], arrays)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the header and the arrays of a figure do not fit each other ({error})") from None


def figure_digests(figures: Sequence[FigureData]) -> list[str]:
    """Return the digest of each figure."""
    return [figure.digest for figure in figures]


def _with_plain_nans(figure: FigureData) -> FigureData:
    """Replace every NaN by the same bits: the word in JSON cannot tell one NaN from another."""
    arrays = {name: _plain_nans(array) for name, array in figure.arrays.items()}
    if all(arrays[name].tobytes() == array.tobytes() for name, array in figure.arrays.items()):
        return figure
    return FigureData.from_parts(figure.header(), arrays)


def _plain_nans(array: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array) if array.dtype.kind == "f" else array


def _array(numbers: Sequence[Any], dtype: str, shape: Sequence[int]) -> np.ndarray:
    # NaN and ±∞ are words in JSON.
    return np.array([float(x) if isinstance(x, str) else x for x in numbers], dtype=dtype).reshape(shape)


Figures = tuple[Annotated[FigureData, PlainValidator(figure_from_json), PlainSerializer(figure_to_json)], ...]
"""A field that holds figures."""
