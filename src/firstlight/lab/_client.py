"""The server's connection to the recorder: find it beside the store or start it, ask it, hear from it."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from firstlight.lab._errors import LabError
from firstlight.lab._frames import encode, read_frame
from firstlight.lab._places import Places, read_address
from firstlight.lab._queue import forgotten

START_SECONDS = 60.0
"""Seconds within which a new recorder must listen."""

ENDING_SECONDS = 15.0
"""Seconds that a recorder may take to exit after it has ceased to listen: its workers end first."""


RECORDER = (sys.executable, "-m", "firstlight.lab._recorder")
"""The command of a recorder; store and idle seconds are added."""


class Client:
    """Questions to the recorder and its news; a recorder that dies is started again.

    **Attributes:**

    - `jobs`: the jobs by id, as the recorder last reported them.
    - `is_leaving`: whether the server stops; streams of tabs end then.
    """

    is_leaving = False

    def __init__(
        self,
        places: Places,
        about: dict[str, Any],
        idle_seconds: float = 30.0,
        command: Sequence[str] = RECORDER,
    ) -> None:
        self.places = places
        self.jobs: dict[str, dict[str, Any]] = {}
        self._about, self._idle_seconds, self._command = about, idle_seconds, command
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._listeners: list[Callable[[dict[str, Any]], None]] = []
        self._lock = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._closed = False

    async def connect(self) -> None:
        """Adopt the recorder of the store, or start one; a `LabError` says why neither is possible."""
        async with self._lock:
            if self._writer is None:
                await self._connect()

    def listen(self, listener: Callable[[dict[str, Any]], None]) -> None:
        """Call `listener` with each piece of news."""
        self._listeners.append(listener)

    async def ask(self, what: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return a worker's answer to a question."""
        return await self._request({"do": "ask", "what": what, "given": given})

    async def submit(self, id: str, kind: str, title: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Queue a job; a job with the same id that waits or runs stays as it is."""
        return await self._request({"do": "submit", "id": id, "kind": kind, "title": title, "payload": payload})

    async def control(self, id: str, action: str) -> dict[str, Any]:
        """Pause, resume, stop or remove a job."""
        return await self._request({"do": "control", "id": id, "action": action})

    def leave(self) -> None:
        """Say that the server stops."""
        self.is_leaving = True
        self._heard({"event": "leaving"})

    async def end(self, *, keep_running: bool) -> None:
        """Disconnect; unless `keep_running`, the recorder stops its job at a checkpoint and exits."""
        self._closed, writer = True, self._writer
        if writer is None:
            return
        if not keep_running:
            with contextlib.suppress(LabError, TimeoutError):
                await asyncio.wait_for(self._request({"do": "end"}), 10)
            if self._reading is not None:
                await asyncio.wait({self._reading}, timeout=30)
            # The file goes last, after the writer's lock: the next command may write at once.
            end = time.monotonic() + 10
            while self.places.address.exists() and time.monotonic() < end:
                await asyncio.sleep(0.02)
        writer.close()

    async def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        await self.connect()
        assert self._writer is not None
        self._number += 1
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._writer.write(encode({"n": number, **message}))
        reply = await future
        if "error" in reply:
            raise LabError(reply["error"])
        return reply["result"]

    async def _connect(self) -> None:
        start, process = time.monotonic(), None
        while True:
            if await self._adopt():
                return
            past = time.monotonic() - start
            if process is None:
                if past > ENDING_SECONDS or not _lives(read_address(self.places.address)):
                    process = self._start()
            elif process.poll() is not None and process.returncode:
                raise LabError(_last_words(self.places))
            if past > START_SECONDS:
                raise LabError(f"the recorder did not start within {START_SECONDS:g} s; see {self.places.log}")
            await asyncio.sleep(0.05)

    async def _adopt(self) -> bool:
        address = read_address(self.places.address)
        if address is None:
            return False
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(address["port"]), limit=2**20)
        except OSError:
            return False  # the file of a recorder that was killed
        writer.write(encode({"n": 0, "token": address["token"], "server": self._about}))
        frame = await read_frame(reader)
        if frame is None:
            writer.close()
            return False
        if "taken" in frame[0]:
            writer.close()
            other = frame[0]["taken"]
            raise LabError(
                f"a lab is already open on the store {self.places.store}, at {other.get('url', 'another address')} "
                f"(process {other.get('pid', 'unknown')}). Open that address, or give this lab another store with "
                "--store."
            )
        self.jobs = {job["id"]: job for job in frame[0]["result"]["jobs"]}
        self._writer = writer
        self._reading = asyncio.create_task(self._read(reader))
        return True

    def _start(self) -> subprocess.Popen[bytes]:
        self.places.store.parent.mkdir(parents=True, exist_ok=True)
        words = [*self._command, str(self.places.store), str(self._idle_seconds)]
        with open(self.places.log, "wb") as log:
            # In a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it.
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=dict(os.environ)
            )

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while (frame := await read_frame(reader)) is not None:
            message = frame[0]
            if "n" in message:
                future = self._waiting.pop(message["n"], None)
                if future is not None and not future.done():
                    future.set_result(message)
            else:
                self._heard(message)
        self._writer = None
        for future in self._waiting.values():
            if not future.done():
                future.set_result({"error": "the recorder ended; it starts again with the next request"})
        self._waiting.clear()
        if not self._closed:
            # Jobs that ran when the recorder died go on in the next one.
            with contextlib.suppress(LabError):
                await self.connect()
                self._heard({"event": "jobs"})

    def _heard(self, message: dict[str, Any]) -> None:
        if message["event"] == "job":
            self.jobs[message["job"]["id"]] = message["job"]
            for id in forgotten({id: job["state"] for id, job in self.jobs.items()}):
                del self.jobs[id]
        elif message["event"] == "removed":
            self.jobs.pop(message["id"], None)
        for listener in self._listeners:
            listener(message)


def _lives(address: dict[str, Any] | None) -> bool:
    """Whether the process of an address exists; elsewhere than on POSIX systems a signal would end it."""
    if address is None or os.name != "posix":
        return False
    try:
        os.kill(int(address["pid"]), 0)
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _last_words(places: Places) -> str:
    try:
        lines = places.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    words = next((line for line in reversed(lines) if line.startswith("error: ")), "")
    return words.removeprefix("error: ") or f"the recorder could not start; see {places.log}"
