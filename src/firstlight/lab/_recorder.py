"""The recorder process of a store: holds the writer's lock, starts workers, writes their rows, queues the rest.

It outlives the server. The next server finds its address beside the store and adopts it. Without a server and without
jobs it exits after a while.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firstlight.lab._errors import LabError
from firstlight.lab._frames import Arrays, encode, read_frame
from firstlight.lab._hands import WORKER, Hand
from firstlight.lab._lanes import Lane, make_lanes
from firstlight.lab._places import Places, read_address, write_private
from firstlight.lab._queue import Job, Queue, plain
from firstlight.lab._writer import Writer
from firstlight.records import Store, StoreError

IDLE_SECONDS = 30.0
"""Seconds after which a recorder without server and without jobs exits."""

COMMIT_SECONDS = 0.1
"""Seconds between two commits of rows, and between two messages about them: ten updates a second."""


class Recorder:
    """Connects one server at a time with the workers and the store."""

    def __init__(
        self, store: Store, places: Places, idle_seconds: float = IDLE_SECONDS, worker: Sequence[str] = WORKER
    ) -> None:
        self._places, self._idle_seconds = places, idle_seconds
        self._queue, self._writer = Queue(places.jobs), Writer(store, places)
        self._token = secrets.token_urlsafe(24)
        self._server: asyncio.StreamWriter | None = None
        self._about: dict[str, Any] = {}
        self._lanes = make_lanes(places.log, self._from_lane, worker)
        self._desk = Hand("desk", places.log, self._from_desk, worker)
        self._questions: dict[int, tuple[asyncio.StreamWriter, int]] = {}
        self._asked = 0
        self._alone_since = time.monotonic()
        self._over = asyncio.Event()
        self._stopping = False

    async def serve(self) -> None:
        """Listen until nothing is left to do, or until a server asks for the end."""
        listener = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        write_private(self._places.address, {"port": port, "token": self._token, "pid": os.getpid()})
        await asyncio.gather(self._desk.start(), *(lane.hand.start() for lane in self._lanes if lane.stays))
        ticker = asyncio.create_task(self._tick())
        try:
            await self._over.wait()
        finally:
            ticker.cancel()
            listener.close()
            await asyncio.gather(self._desk.end(), *(lane.hand.end() for lane in self._lanes))
            self._writer.close()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(COMMIT_SECONDS)
            for run, count in self._writer.commit():
                self._push({"event": "rows", "run": run, "count": count})
            await self._restart_dead_workers()
            for lane in self._lanes:
                await self._go_on(lane)
            if self._stopping and all(lane.current is None for lane in self._lanes):
                self._over.set()
            if self._server is not None or self._queue.is_busy:
                self._alone_since = time.monotonic()
            elif time.monotonic() - self._alone_since > self._idle_seconds:
                self._over.set()

    async def _go_on(self, lane: Lane) -> None:
        """Begin the next job of a lane; a worker that does not stay starts with a job and ends after the last."""
        if lane.current is not None or self._stopping:
            return
        job = self._queue.next(lane.kinds)
        if job is None and not lane.stays:
            await lane.hand.end()
        elif job is not None and not lane.hand.is_started:
            await lane.hand.start()
        elif job is not None and lane.hand.is_ready:
            self._begin(lane, job)

    async def _restart_dead_workers(self) -> None:
        for lane in self._lanes:
            if lane.hand.is_dead:
                if lane.current is not None:
                    words = "its worker process ended; see the log beside the store"
                    self._ended(lane, {"state": "failed", "message": words}, {})
                await lane.hand.start()
        if self._desk.is_dead:
            for server, number in self._questions.values():
                _send(server, {"n": number, "error": "the forecasting process ended and was started again; try again"})
            self._questions.clear()
            await self._desk.start()

    def _begin(self, lane: Lane, job: Job) -> None:
        lane.current = job.id
        message = {"do": job.kind, "id": job.id, "payload": job.payload, "work": str(self._places.store.parent)}
        message |= {"store": str(self._places.store), "data": str(self._places.tables)}
        try:
            if job.kind == "run":
                message |= self._writer.begin(job.payload["spec"])
            self._changed(self._queue.change(job.id, state="running", message=""))
            lane.hand.send(message)
        except (StoreError, ValueError, OSError) as error:
            self._ended(lane, {"state": "failed", "message": str(error)}, {})

    def _from_lane(self, lane: Lane, message: dict[str, Any], arrays: Arrays) -> None:
        event, id = message.get("event"), lane.current
        if id is None or event is None:
            return
        if event == "rows":
            self._writer.append(message["steps"], message["scalars"], arrays)
            self._changed(self._queue.change(id, done=float(message["steps"][-1]), total=float(message["total"])))
        elif event == "notes":
            job = self._queue.jobs[id]
            self._changed(self._queue.change(id, notes={**job.notes, **message["notes"]}))
        elif event == "state":
            self._changed(self._queue.change(id, state=message["state"], message=""))
        elif event == "progress":
            values = {name: message[name] for name in ("done", "total", "message")}
            self._changed(self._queue.change(id, **values))
        elif event == "points":
            self._points(lane, id, message, arrays)
        elif event == "end":
            self._ended(lane, message, arrays)

    def _points(self, lane: Lane, id: str, message: dict[str, Any], arrays: Arrays) -> None:
        """Write ended points of a sweep; where the store refuses them, stop the sweep and say why."""
        try:
            self._writer.put_points(message["points"], arrays)
        except (StoreError, ValueError, OSError) as error:
            lane.refusal = f"the store refused a point: {error}"
            lane.hand.send({"do": "stop"})
            return
        self._changed(self._queue.change(id, done=float(message["done"]), total=float(message["total"])))

    def _ended(self, lane: Lane, message: dict[str, Any], arrays: Arrays) -> None:
        id, lane.current = lane.current, None
        assert id is not None
        job, state, words = self._queue.jobs[id], message["state"], message.get("message", "")
        if lane.refusal:
            state, words, lane.refusal = "failed", lane.refusal, ""
        try:
            self._writer.finish(job.kind, message, arrays)
        except (StoreError, ValueError, OSError) as error:
            state, words = "failed", str(error)
        self._push({"event": "rows", "run": id, "count": -1})
        # A run may end before its last epoch; whatever else has finished has done all of its work.
        done = job.total if state == "finished" and job.kind != "run" else job.done
        self._changed(self._queue.change(id, state=state, message=words, done=done))

    def _from_desk(self, message: dict[str, Any], arrays: Arrays) -> None:
        asked = self._questions.pop(message.get("answer", -1), None)
        if asked is not None:
            server, number = asked
            _send(server, {"n": number, **{k: message[k] for k in ("result", "error") if k in message}})

    def _changed(self, job: Job) -> None:
        self._push({"event": "job", "job": plain(job)})

    def _push(self, message: dict[str, Any]) -> None:
        if self._server is not None:
            _send(self._server, message)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            frame = await asyncio.wait_for(read_frame(reader), 10)
            if frame is None or not secrets.compare_digest(str(frame[0].get("token", "")), self._token):
                return
            if self._server is not None:
                _send(writer, {"n": frame[0]["n"], "taken": self._about})
                await writer.drain()
                return
            self._server, self._about = writer, frame[0].get("server", {})
            _send(writer, {"n": frame[0]["n"], "result": {"jobs": self._queue.plain(), "pid": os.getpid()}})
            while (frame := await read_frame(reader)) is not None:
                self._answer(frame[0], writer)
                await writer.drain()
        except (TimeoutError, ConnectionError, ValueError, LabError):
            pass
        finally:
            if self._server is writer:
                self._server = None
            writer.close()

    def _answer(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        number, do = message["n"], message["do"]
        if do == "ask":
            self._asked += 1
            self._questions[self._asked] = (writer, number)
            self._desk.send({"do": "ask", "n": self._asked, "what": message["what"], "given": message["given"]})
            return
        try:
            result = {"submit": self._submit, "control": self._control, "end": self._end}[do](message)
            _send(writer, {"n": number, "result": result})
        except (KeyError, TypeError, StoreError, ValueError) as error:
            _send(writer, {"n": number, "error": str(error)})

    def _submit(self, message: dict[str, Any]) -> dict[str, Any]:
        job = self._queue.add(Job(message["id"], message["kind"], message["title"], message["payload"]))
        self._changed(job)
        return plain(job)

    def _control(self, message: dict[str, Any]) -> dict[str, Any]:
        job, action = self._queue.jobs.get(message["id"]), message["action"]
        if job is None:
            raise LabError("no such job waits or runs; it may have been removed in another tab")
        lane = next((lane for lane in self._lanes if lane.current == job.id), None)
        if lane is not None:
            if action == "remove":
                raise LabError("this job is running; stop it before you remove it")
            lane.hand.send({"do": action})
            if action == "pause" and job.state == "running":
                job = self._queue.change(job.id, message="pauses after the next row")
        elif action == "stop" and job.state == "queued":
            job = self._queue.change(job.id, state="stopped", message="stopped before it began")
        elif action == "resume" and job.state in ("stopped", "failed"):
            job = self._queue.change(job.id, state="queued", message="")
        elif action == "remove":
            self._queue.remove(job.id)
            self._writer.forget(job.kind, job.id)
            self._push({"event": "removed", "id": job.id})
            return plain(job)
        self._changed(job)
        return plain(job)

    def _end(self, message: dict[str, Any]) -> dict[str, Any]:
        self._stopping = True
        for lane in self._lanes:
            if lane.current is not None:
                lane.hand.send({"do": "stop"})
        return {}


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    with contextlib.suppress(ConnectionError, RuntimeError):
        writer.write(encode(message))


def main(worker: Sequence[str] = WORKER) -> int:
    """Run the recorder of the store that the command names; `worker` is the command of its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    places = Places(Path(sys.argv[1]))
    idle = float(sys.argv[2]) if len(sys.argv) > 2 else IDLE_SECONDS
    try:
        with Store(places.store, "rw") as store:

            async def run() -> None:
                await Recorder(store, places, idle, worker).serve()

            asyncio.run(run())
    except StoreError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if (read_address(places.address) or {}).get("pid") == os.getpid():
        places.address.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
