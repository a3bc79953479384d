"""`FigureData`: frozen, compared by content, one safetensors file on disk."""

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from firstlight._files import write_atomically
from firstlight.records._canonical import canonical_json
from firstlight.records._layout import read_tensors, reading
from firstlight.records._parsing import parse_json
from firstlight.records._shorten import shorten
from firstlight.records.figure._form import check

FigureKind = Literal[
    "curves",
    "spectrum",
    "heatmap",
    "grid",
    "phase",
    "staircase",
    "alignment",
    "scatter",
    "bars",
    "circles",
    "histogram",
    "panels",
]
FIGURE_KINDS: tuple[str, ...] = get_args(FigureKind)
AxisScale = Literal["linear", "log", "symlog"]

_SCHEMA = 1
_METADATA_KEY = "firstlight.figure"


@dataclass(frozen=True)
class Axis:
    """The label, unit and scale of an axis.

    >>> Axis("time", "s", scale="log").text
    'time (s)'
    """

    label: str
    unit: str = ""
    scale: AxisScale = "linear"

    def __post_init__(self) -> None:
        if not self.label.strip():
            raise ValueError("an axis needs a label that says what it measures; received an empty label")
        if self.scale not in get_args(AxisScale):
            raise ValueError(f"an axis scale is one of {', '.join(get_args(AxisScale))}; received {self.scale!r}")

    @property
    def text(self) -> str:
        """The label with its unit, as printed."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def as_axis(axis: Axis | str) -> Axis:
    """Return an `Axis` unchanged, and a linear axis for a string, which is its label."""
    return axis if isinstance(axis, Axis) else Axis(axis)


@dataclass(frozen=True, eq=False)
class FigureData:
    """The content of a figure: words and layout in a JSON header, numbers in read-only arrays.

    Use the constructors of `firstlight.records.figure`, one per `kind`. `x` and `y` describe the axes,
    `value` the colour scale of a map. Two figures are equal if their digests are.
    """

    kind: FigureKind
    title: str = ""
    caption: str = ""
    x: Axis | None = None
    y: Axis | None = None
    value: Axis | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in FIGURE_KINDS:
            raise ValueError(f"kind is one of {', '.join(FIGURE_KINDS)}; received {self.kind!r}")
        try:
            plain = json.loads(json.dumps(_thaw(self.meta), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"meta must be finite JSON; {error}. Put numbers that may be NaN in arrays") from None
        object.__setattr__(self, "meta", _freeze(plain))
        frozen = {name: _frozen_array(name, self.arrays[name]) for name in sorted(self.arrays)}
        object.__setattr__(self, "arrays", MappingProxyType(frozen))

    def header(self) -> dict[str, Any]:
        """Return everything except the numbers as JSON, with the dtype and shape of every array."""
        return {
            "schema": _SCHEMA,
            "kind": self.kind,
            "title": self.title,
            "caption": self.caption,
            **{name: axis and dataclasses.asdict(axis) for name, axis in self._axes().items()},
            "meta": _thaw(self.meta),
            "arrays": {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in self.arrays.items()},
        }

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical header followed by the bytes of the arrays in the order of their names."""
        sha = hashlib.sha256(canonical_json(self.header()).encode())
        for array in self.arrays.values():
            sha.update(array.tobytes())
        return sha.hexdigest()

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "FigureData":
        """Build a figure from `header()` and `arrays`; raise `ValueError` if the arrays do not match the header."""
        header = _thaw(header)
        if header.get("schema") != _SCHEMA:
            raise ValueError(
                f"this version reads figures of schema {_SCHEMA}; received schema "
                f"{shorten(repr(header.get('schema')), 40)}. Update firstlight, or make the figure again"
            )
        check(header, arrays)
        axes = {name: Axis(**header[name]) if header[name] else None for name in ("x", "y", "value")}
        made = cls(header["kind"], header["title"], header["caption"], **axes, meta=header["meta"], arrays=arrays)
        if made.header()["arrays"] != header["arrays"]:
            raise ValueError(
                f"the header names arrays {shorten(str(header['arrays']))}; "
                f"received {shorten(str(made.header()['arrays']))}. Header and arrays belong to different figures"
            )
        if made.kind == "panels":
            from firstlight.records.figure._panels import unpack_panels

            unpack_panels(made)
        return made

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one `.safetensors` file atomically, with the header as its metadata."""
        from safetensors.numpy import save

        content = save(dict(self.arrays), metadata={_METADATA_KEY: canonical_json(self.header())})
        return write_atomically(path, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "FigureData":
        """Read a file written by `save`; no code in the file is executed."""
        with reading(path, "a whole figure file", "give a file written by FigureData.save, or make the figure again"):
            metadata, arrays = read_tensors(path)
            header = parse_json(metadata.get(_METADATA_KEY, ""))
            if not isinstance(header, dict):
                raise ValueError(f"its metadata must hold a table under {_METADATA_KEY!r}")
            return cls.from_parts(header, arrays)

    def _axes(self) -> dict[str, Axis | None]:
        return {"x": self.x, "y": self.y, "value": self.value}

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, FigureData) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"FigureData({self.kind}, {self.title!r}, {self.digest[:12]})"

    def _repr_html_(self) -> str:
        from firstlight.records._notebook import html_figure

        return html_figure(self)

    def __reduce__(self):
        # Read-only views cannot be pickled; the header and the arrays can.
        return FigureData.from_parts, (self.header(), dict(self.arrays))


def require_real(name: str, array: np.ndarray) -> None:
    """Raise `ValueError` for arrays of objects, strings or complex values, which cannot be drawn or hashed."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; received dtype {array.dtype}")


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(item) for key, item in value.items()})
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _thaw(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _thaw(item) for key, item in value.items()}
    return [_thaw(item) for item in value] if isinstance(value, tuple | list) else value


def _frozen_array(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    require_real(f"array {name!r}", array)
    # Little-endian bytes in C order make the digest the same on every machine.
    array = np.array(array, dtype=array.dtype.newbyteorder("<"), order="C")
    array.flags.writeable = False
    return array
