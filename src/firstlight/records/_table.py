"""The observations of a run: one row per recorded step, one column per observable."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from firstlight.records._identity import digest_arrays
from firstlight.records._notebook import html_rows

_SHOWN = 8
"""How many columns and rows a notebook shows."""

Row = tuple[int, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Table:
    """Read-only columns (r, …) over the recorded `step` (r,); tables are equal if all their bits are.

    A table is a mapping from `step` and the names of its columns to arrays; its length is the number of rows. A
    column of scalars is float64; a column of arrays keeps its type.

    >>> table = Table([0, 10], {"loss": [1.0, 0.25]})
    >>> table["loss"][-1], len(table), table == Table.from_rows([(0, {"loss": 1.0}), (10, {"loss": 0.25})])
    (np.float64(0.25), 2, True)
    >>> list(table), dict(table)["step"].tolist(), table.get("accuracy")
    (['step', 'loss'], [0, 10], None)
    """

    step: np.ndarray | Sequence[int] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        step = np.array(self.step, dtype=np.int64).reshape(-1)
        step.flags.writeable = False
        columns = {name: _column(name, self.columns[name], len(step)) for name in sorted(self.columns)}
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "columns", MappingProxyType(columns))

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> "Table":
        """Build a table from rows (step, values); a scalar absent from a row becomes NaN."""
        names = sorted({name for _, values in rows for name in values})
        return cls([step for step, _ in rows], {name: _stack(name, rows) for name in names})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Table":
        """Build a table from `arrays`."""
        columns = {name: array for name, array in arrays.items() if name != "step"}
        return cls(arrays["step"], columns)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All columns and `step`, as they are written to a file."""
        return {"step": np.asarray(self.step), **self.columns}

    @property
    def digest(self) -> str:
        """SHA-256 of names, types, shapes and numbers."""
        return digest_arrays(self.arrays)

    def rows(self, first: int = 0) -> list[tuple[int, dict[str, Any]]]:
        """Return the rows (step, values) from number `first` on; all of them are the inverse of `from_rows`."""
        return [
            (int(self.step[i]), {name: column[i] for name, column in self.columns.items()})
            for i in range(first, len(self))
        ]

    def scalars(self) -> dict[str, np.ndarray]:
        """Return the columns (r,) with one number per row, which a CSV file or a data frame can hold."""
        return {name: column for name, column in self.columns.items() if column.ndim == 1}

    def to_json(self) -> dict[str, Any]:
        """Return plain lists; a column of arrays is flat, with its type and shape."""
        columns = {
            name: column.tolist()
            if column.ndim == 1
            else {"dtype": column.dtype.str, "shape": list(column.shape), "data": column.ravel().tolist()}
            for name, column in self.columns.items()
        }
        return {"step": np.asarray(self.step).tolist(), "columns": columns}

    @classmethod
    def parse(cls, value: Any) -> "Table":
        """Return a table from a table or from the result of `to_json`."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping) or not value.keys() >= {"step", "columns"}:
            raise ValueError(f"a table has step and columns; got {type(value).__name__}")
        return cls(value["step"], {name: _parse(column) for name, column in value["columns"].items()})

    def __len__(self) -> int:
        return len(self.step)

    def __iter__(self) -> Iterator[str]:
        yield "step"
        yield from self.columns

    def keys(self) -> KeysView[str]:
        """Return `step` and the names of the columns."""
        return self.arrays.keys()

    def values(self) -> ValuesView[np.ndarray]:
        """Return the steps and the columns."""
        return self.arrays.values()

    def items(self) -> ItemsView[str, np.ndarray]:
        """Return pairs of a name and its array, `step` first."""
        return self.arrays.items()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a column, or `default` if there is none of this name."""
        return self.arrays.get(name, default)

    def __getitem__(self, name: str) -> np.ndarray:
        if name == "step":
            return np.asarray(self.step)
        try:
            return self.columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self.columns) or 'none'}") from None

    def __contains__(self, name: str) -> bool:
        return name == "step" or name in self.columns

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Table) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        names = _plain_first(self.columns)
        shown = names if len(names) <= _SHOWN else [*names[: _SHOWN - 1], f"… ({len(names)} columns)"]
        return f"Table({len(self)} row{'s' * (len(self) != 1)}: {', '.join(shown)})"

    def _repr_html_(self) -> str:
        scalars = self.scalars()
        names = _plain_first(scalars)[:_SHOWN]
        rows = [(int(step), *(float(scalars[name][i]) for name in names)) for i, step in enumerate(self.step)]
        if len(rows) > _SHOWN:
            rows = [*rows[: _SHOWN // 2], ("…",) * (1 + len(names)), *rows[-(_SHOWN // 2) :]]
        hidden = len(self.columns) - len(names)
        caption = f"{len(self)} recorded steps" + (f"; {hidden} more columns in .columns" if hidden else "")
        return html_rows(("step", *names), rows, caption)

    def __reduce__(self):
        # A read-only mapping cannot be pickled; the arrays can.
        return Table.from_arrays, (self.arrays,)


def _plain_first(names: Iterable[str]) -> list[str]:
    """Return the columns of every run before those of lenses, which have a dot in their names."""
    return sorted(names, key=lambda name: ("." in name, name))


def _column(name: str, values: Any, rows: int) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != rows:
        raise ValueError(f"column {name!r} needs {rows} rows, one per step; got shape {array.shape}")
    if name == "step":
        raise ValueError("'step' is the index of a table; give the column another name")
    if array.dtype.kind not in "biuf" and array.size:
        raise ValueError(f"column {name!r} must hold real numbers; got {array.dtype}")
    dtype = np.float64 if array.ndim == 1 else array.dtype.newbyteorder("<")
    array = np.array(array, dtype=dtype, order="C")
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan  # NaN has many bit patterns; use one, so that equal tables have equal bits
    array.flags.writeable = False
    return array


def _stack(name: str, rows: Sequence[Row]) -> np.ndarray:
    values = [values.get(name) for _, values in rows]
    shapes = {np.shape(value) for value in values if value is not None}
    if len(shapes) > 1:
        raise ValueError(f"column {name!r} changes shape between rows: {sorted(shapes)}")
    shape = shapes.pop()
    if not shape:
        return np.array([np.nan if value is None else float(value) for value in values])
    missing = np.full(shape, np.nan)
    return np.stack([np.asarray(missing if value is None else value) for value in values])


def _parse(column: Any) -> np.ndarray:
    if isinstance(column, Mapping):
        data = np.array([float(x) if isinstance(x, str) else x for x in column["data"]])
        return data.astype(column["dtype"]).reshape(column["shape"])
    return np.array([float(x) for x in column])
