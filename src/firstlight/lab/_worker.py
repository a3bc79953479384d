"""A worker process: trains runs, checks claims and answers questions, one at a time, with JAX kept warm.

Messages come in on stdin and go out on stdout. At the end of stdin the recorder is gone, and the worker exits at once:
the next recorder continues the run from its last checkpoint.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from queue import SimpleQueue
from typing import IO, Any

from firstlight import _interrupts as interrupts
from firstlight.lab._frames import Arrays, encode, read_frame_from


class Channel:
    """Sends messages from any thread, in order, without letting the sender wait."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def send(self, message: Mapping[str, Any], arrays: Arrays | None = None) -> None:
        """Send a message soon."""
        self._waiting.put(encode(message, arrays))

    def _send(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                self._file.write(data)
                self._file.flush()
            except OSError:
                os._exit(1)


class Control:
    """What the recorder asks of the job in progress: pause it, resume it, stop it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.paused, self.stopping = threading.Event(), threading.Event()

    def obey(self, action: str) -> None:
        """Carry out pause, resume or stop."""
        if action == "pause":
            self.paused.set()
        elif action == "resume":
            self.paused.clear()
        elif action == "stop":
            self.stopping.set()
            interrupts.note(signal.SIGINT)

    def hold(self) -> None:
        """Wait while the job is paused, and report the beginning and the end of the pause."""
        if not self.paused.is_set():
            return
        self._channel.send({"event": "state", "state": "paused"})
        while self.paused.is_set() and not self.stopping.is_set():
            time.sleep(0.05)
        self._channel.send({"event": "state", "state": "running"})

    def reset(self) -> None:
        """Forget the requests of the last job."""
        self.paused.clear()
        self.stopping.clear()
        interrupts.forget()


def main(duties: Any = None) -> None:
    """Serve messages until stdin ends.

    **Arguments:**

    - `duties`: a module with `prepare` and `DUTIES`; by default that of the lab, which loads JAX.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not end up between the messages.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    channel, work = Channel(out), SimpleQueue()
    control = Control(channel)

    def listen() -> None:
        while (frame := read_frame_from(sys.stdin.buffer)) is not None:
            message, arrays = frame
            if message["do"] in ("pause", "resume", "stop"):
                control.obey(message["do"])
            else:
                control.reset()  # here, so that a stop right after the job is not forgotten
                work.put((message, arrays))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    if duties is None:
        from firstlight.lab import _duties as duties
    duties.prepare(sys.argv[1] if len(sys.argv) > 1 else "")
    channel.send({"event": "ready"})
    while True:
        message, _ = work.get()
        try:
            duties.DUTIES[message["do"]](message, channel, control)
        except KeyboardInterrupt:
            channel.send({"event": "end", "state": "stopped", "message": "stopped before it began"})


if __name__ == "__main__":
    main()
