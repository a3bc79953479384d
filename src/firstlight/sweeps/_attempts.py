"""Count how often a process died while it trained a batch, without a lock and across nodes."""

import contextlib
import json
from pathlib import Path

from firstlight._files import write_atomically


class Attempts:
    """The attempts at a batch, in the folder of its checkpoints.

    A file says that an attempt runs. If the next attempt still finds it, the process died: it was killed, ran out of
    memory or lost its node. A death after a new checkpoint does not count, because the batch gets on.

    **Arguments:**

    - `folder`: the checkpoints of the batch.

    **Attributes:**

    - `deaths`: number of deaths in a row without a new checkpoint.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Attempts(Path(folder)).__enter__()  # and the process dies
    ...     with Attempts(Path(folder)) as second:
    ...         second.deaths
    1
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        earlier = _read(folder / "attempt.json")
        self.deaths = earlier["deaths"]
        if earlier["running"]:
            self.deaths = self.deaths + 1 if earlier["seen"] == _checkpoints(folder) else 0

    def __enter__(self) -> "Attempts":
        self._write(running=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After success the folder is removed; on a full disk the next attempt counts one death too many.
        if kind is not None:
            with contextlib.suppress(OSError):
                self._write(running=False)

    def _write(self, running: bool) -> None:
        state = {"running": running, "deaths": self.deaths, "seen": _checkpoints(self.folder)}
        write_atomically(self.folder / "attempt.json", json.dumps(state).encode())


def _read(path: Path) -> dict:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        return {"running": bool(state["running"]), "deaths": int(state["deaths"]), "seen": state["seen"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {"running": False, "deaths": 0, "seen": []}


def _checkpoints(folder: Path) -> list[list]:
    """Return name, size and time of each checkpoint."""
    files = []
    for path in sorted(folder.glob("*/*.safetensors")):
        try:
            facts = path.stat()
        except FileNotFoundError:  # replaced at this moment
            continue
        files.append([path.name, facts.st_size, facts.st_mtime_ns])
    return files
