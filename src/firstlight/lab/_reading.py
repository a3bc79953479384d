"""Reads of the store by the server: one thread with one connection, so that pages never wait for each other's disk."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from firstlight.records import RunRecord, Store

T = TypeVar("T")


class Reading:
    """Asks the store from coroutines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._store: Store | None = None

    async def call(self, function: Callable[[Store], T]) -> T:
        """Return `function(store)`, called in the reading thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, function)

    async def status(self, run: str) -> str | None:
        """Return the status of a run, or None if the store does not have it."""
        return await self.call(lambda store: store.run_status(run))

    async def rows(self, run: str, first: int) -> list[Any]:
        """Return the rows of a run from number `first` on."""
        return await self.call(lambda store: store.rows_from(run, first))

    async def run(self, run: str) -> RunRecord:
        """Return the record of a run."""
        return await self.call(lambda store: store.get_run(run))

    def close(self) -> None:
        """Close the connection."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _call(self, function: Callable[[Store], T]) -> T:
        if self._store is None:
            self._store = Store(self._path, "r")
        return function(self._store)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
