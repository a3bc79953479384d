"""The stream of a tab: new rows of its run and changes of jobs, as server-sent events that can be replayed.

The id of an event is the number of the next row. A browser that reconnects sends the last id, and the stream goes on
from there: no row is lost, none is sent twice.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np

from firstlight.lab._client import Client
from firstlight.lab._frames import without_gaps
from firstlight.lab._reading import Reading
from firstlight.lab._thin import thin_rows

PAUSE = 0.1
"""Seconds between two events of a tab: ten updates a second at most."""

MOST_ROWS = 400
"""Points of a curve in one event; a longer stretch is thinned."""

_HEARTBEAT = 15.0


class News:
    """Wakes the streams of all tabs when something has changed."""

    def __init__(self, client: Client) -> None:
        self._waiting: set[asyncio.Event] = set()
        client.listen(lambda message: self._wake())

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    def subscribe(self) -> asyncio.Event:
        """Return an event that is set at each change."""
        event = asyncio.Event()
        event.set()
        self._waiting.add(event)
        return event

    def leave(self, event: asyncio.Event) -> None:
        """End a subscription."""
        self._waiting.discard(event)

    @property
    def tabs(self) -> int:
        """The number of open streams."""
        return len(self._waiting)


async def stream(client: Client, reading: Reading, news: News, run: str, first: int) -> AsyncIterator[str]:
    """Yield the events of a tab that shows `run`, or no run if ''; rows begin at number `first`."""
    changed = news.subscribe()
    sent_jobs: dict[str, Any] | None = None  # a new tab hears of the jobs first, also when there are none
    next_row, status = first, None
    yield "retry: 500\n\n"
    try:
        while True:
            try:
                await asyncio.wait_for(changed.wait(), _HEARTBEAT)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            changed.clear()
            if client.is_leaving:
                return
            if sent_jobs != client.jobs:
                sent_jobs = dict(client.jobs)
                yield _event("jobs", list(sent_jobs.values()))
            if run:
                now = await reading.status(run)
                # An ended run has no new rows, and reading it again would read all of them.
                is_new = now == "interrupted" or now != status
                rows = await reading.rows(run, next_row) if now is not None and is_new else []
                if rows:
                    next_row += len(rows)
                    yield _event("rows", {"run": run, **_columns(rows, next_row)}, next_row)
                if now != status and now is not None:
                    status = now
                    yield _event("status", {"run": run, "status": status, "rows": next_row}, next_row)
            await asyncio.sleep(PAUSE)
    finally:
        news.leave(changed)


def curve(rows: list[Any], most: int) -> dict[str, Any]:
    """Return the curves of rows (step, values), thinned to about `most` points each.

    >>> curve([(0, {"loss": 1.0}), (10, {"loss": 0.5})], 100)
    {'step': [0, 10], 'loss': [1.0, 0.5]}
    """
    steps = np.array([step for step, _ in rows], dtype=np.int64)
    names = sorted({name for _, values in rows for name, value in values.items() if np.ndim(value) == 0})
    columns = {name: np.array([float(values.get(name, np.nan)) for _, values in rows]) for name in names}
    return thinned(steps, columns, most)


def thinned(steps: np.ndarray, columns: Mapping[str, np.ndarray], most: int) -> dict[str, Any]:
    """Return columns over the steps, thinned to about `most` points each, without gaps.

    >>> thinned(np.array([0, 10]), {"loss": np.array([1.0, np.nan])}, 100)
    {'step': [0, 10], 'loss': [1.0, None]}
    """
    guides = {name: column for name, column in columns.items() if name in _GUIDES} or columns
    chosen, _ = thin_rows(steps, guides, most)
    places = np.searchsorted(steps, chosen)
    return {"step": chosen, **{name: without_gaps(column[places].tolist()) for name, column in columns.items()}}


_GUIDES = ("train_accuracy", "test_accuracy", "train_loss", "test_loss")
"""Curves whose extremes decide which rows of a long run are sent."""


def _columns(rows: list[Any], total: int) -> dict[str, Any]:
    return {"total": total, "columns": curve(rows, MOST_ROWS)}


def _event(name: str, data: Any, id: int | None = None) -> str:
    head = f"event: {name}\n" + (f"id: {id}\n" if id is not None else "")
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n"
