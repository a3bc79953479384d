"""The result of a search for a phase diagram: tested points, the border, and a figure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from firstlight.records import FigureData, RunRecord, Stop, figure
from firstlight.sweeps._boundary._plan import Axis
from firstlight.sweeps._boundary._rounds import met
from firstlight.sweeps._phase._cells import Place
from firstlight.sweeps._wilson import wilson


@dataclass(frozen=True)
class PhaseDiagram:
    """The points that were tested and the border between success and failure.

    **Attributes:**

    - `fields`, `axes`: the two fields, horizontal first, and the spacing of their values.
    - `values`: the values of each field.
    - `seeds`: the seeds of every point.
    - `success`: the success rule.
    - `records`: the record of each (place, seed), where a place is (column, row) of the values.
    - `border`: pairs of neighbouring places with different outcomes.
    """

    fields: tuple[str, str]
    axes: tuple[Axis, Axis]
    values: tuple[tuple[float, ...], ...]
    seeds: tuple[int, ...]
    success: Stop
    records: Mapping[tuple[Place, int], RunRecord]
    border: tuple[tuple[Place, Place], ...]

    @cached_property
    def shares(self) -> pd.DataFrame:
        """One row per tested point: the fields, the share of seeds that succeed, and its 95 % interval."""
        rows = []
        for place in dict.fromkeys(place for place, _ in self.records):
            count = sum(met(self.success, self.records[place, seed]) for seed in self.seeds)
            low, high = wilson(count, len(self.seeds))
            share = {"seeds": len(self.seeds), "share": count / len(self.seeds), "low": low, "high": high}
            rows.append({field: self.values[k][place[k]] for k, field in enumerate(self.fields)} | share)
        return pd.DataFrame(rows)

    @cached_property
    def boundary(self) -> pd.DataFrame:
        """One row per crossing: its middle, and half of the distance of the two points around it, for each field."""
        rows = []
        for first, second in self.border:
            row = {}
            for k, field in enumerate(self.fields):
                a, b = self.values[k][first[k]], self.values[k][second[k]]
                row[field] = math.sqrt(a * b) if self.axes[k] == "log" else (a + b) / 2
                row[f"{field}.error"] = abs(b - a) / 2
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def tested(self) -> float:
        """The share of the lattice that was tested."""
        return len(self.shares) / (len(self.values[0]) * len(self.values[1]))

    def figure_data(self) -> FigureData:
        """Return the share of seeds that succeed; an untested point has the share of the nearest tested one."""
        columns, rows = (len(values) for values in self.values)
        places = np.array(list(dict.fromkeys(place for place, _ in self.records)))
        shares = self.shares["share"].to_numpy()
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1).reshape(-1, 1, 2)
        nearest = np.abs(grid - places).sum(-1).argmin(-1)
        return figure.phase(
            self.values[0],
            self.values[1],
            shares[nearest].reshape(rows, columns),
            x=figure.Axis(self.fields[0], scale=self.axes[0]),
            y=figure.Axis(self.fields[1], scale=self.axes[1]),
            value="share of seeds that succeed",
            title=f"Phase diagram of {self.success.words}",
            caption=f"{len(self.seeds)} seeds; {len(shares)} of {columns * rows} points tested, "
            "the others as their nearest neighbour.",
        )

    def __repr__(self) -> str:
        size = " × ".join(str(len(values)) for values in self.values)
        return (
            f"PhaseDiagram({', '.join(self.fields)}: {len(self.shares)} of {size} points, {len(self.border)} crossings)"
        )
