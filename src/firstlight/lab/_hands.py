"""A worker process as the recorder sees it: start, send, receive, end."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from firstlight.lab._frames import Arrays, encode, read_frame

WORKER = (sys.executable, "-m", "firstlight.lab._worker")
"""The command of a worker; its role is added."""

Receiver = Callable[[dict[str, Any], Arrays], None]


class Hand:
    """One worker process; it can be started again after its end."""

    def __init__(self, role: str, log: Path, receive: Receiver, command: Sequence[str] = WORKER) -> None:
        self._role, self._log, self._receive, self._command = role, log, receive, command
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.is_ready = False

    async def start(self) -> None:
        """Start the process; messages sent before it is ready wait in its pipe."""
        self.is_ready = False
        with open(self._log, "ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                self._role,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=2**20,
            )
        self._reading = asyncio.create_task(self._read(self._process))

    @property
    def is_started(self) -> bool:
        """Whether there is a process, ready or not."""
        return self._process is not None

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended and all that it sent has been received."""
        has_ended = self._process is not None and self._process.returncode is not None
        return has_ended and (self._reading is None or self._reading.done())

    @property
    def pid(self) -> int | None:
        """The process id."""
        return None if self._process is None else self._process.pid

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; one to a dead process is lost, and `is_dead` says so."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(encode(message))

    async def end(self) -> None:
        """Close the pipe, at whose end the worker exits, and wait for it."""
        process, self._process, self.is_ready = self._process, None, False
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while (frame := await read_frame(process.stdout)) is not None:
            if frame[0].get("event") == "ready":
                self.is_ready = True
            else:
                self._receive(*frame)
        await process.wait()
