"""The drawn curves of runs, as the server remembers them: read once, then only from the last row on, and thinned."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firstlight.lab._charts import COLUMNS
from firstlight.lab._live import thinned
from firstlight.lab._reading import Reading
from firstlight.lab._thin import MOST, thin_rows
from firstlight.records import Store

REMEMBERED = 4
"""Runs whose curves stay in memory."""

MOST_ROWS = 20_000
"""Rows of a run that stay in memory, about 1 MB; of longer runs every stretch keeps its extremes."""


@dataclass
class _Columns:
    """The steps and drawn columns of a run of `total` rows; `ended` once it can no longer grow."""

    total: int = 0
    steps: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    values: dict[str, np.ndarray] = field(default_factory=dict)
    ended: bool = False

    def extended(self, rows: list[Any]) -> "_Columns":
        """Return the columns with further rows (step, values)."""
        steps = np.append(self.steps, np.array([step for step, _ in rows], np.int64))
        values = {}
        for name in COLUMNS:
            new = np.array([float(row.get(name, np.nan)) for _, row in rows])
            values[name] = np.append(self.values.get(name, np.full(len(self.steps), np.nan)), new)
        return _Columns(self.total + len(rows), steps, values).shortened()

    def shortened(self) -> "_Columns":
        """Return half of the rows that may stay in memory if there are more of them."""
        if len(self.steps) <= MOST_ROWS:
            return self
        guides = {name: column for name, column in self.values.items() if not np.isnan(column).all()}
        chosen, _ = thin_rows(self.steps, guides, MOST_ROWS // 2)
        places = np.searchsorted(self.steps, chosen)
        values = {name: column[places] for name, column in self.values.items()}
        return _Columns(self.total, self.steps[places], values, self.ended)


class Curves:
    """Answers with thinned curves of any run, however long, without reading its earlier rows again."""

    def __init__(self, reading: Reading) -> None:
        self._reading, self._lock = reading, asyncio.Lock()
        self._known: OrderedDict[str, _Columns] = OrderedDict()

    async def of(self, run: str, most: int = MOST) -> tuple[int, dict[str, Any]]:
        """Return the number of rows of a run and its curves, thinned to about `most` points each."""
        async with self._lock:
            known = self._known.pop(run, _Columns())
            if not known.ended:
                known = await self._reading.call(lambda store: _read(store, run, known))
            self._known[run] = known
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        drawn = {name: column for name, column in known.values.items() if not np.isnan(column).all()}
        return known.total, await asyncio.to_thread(thinned, known.steps, drawn, most)


def _read(store: Store, run: str, known: _Columns) -> _Columns:
    if store.run_status(run) in (None, "interrupted"):
        rows = store.rows_from(run, known.total)
        return known.extended(rows) if rows else known
    table = store.get_run(run).table
    values = {name: column for name, column in table.scalars().items() if name in COLUMNS}
    return _Columns(len(table), np.asarray(table.step), values, ended=True).shortened()
