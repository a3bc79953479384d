"""The time that a measurement took, over all attempts and with the saved parts that it used."""

import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from firstlight._elapsed import credited
from firstlight._files import write_atomically
from firstlight.claims._check import Setting


class Attempts:
    """Time a measurement; its seconds stay in the working directory, beside the parts that it saved.

    Long measurements resume from saved parts, so that the last attempt alone may take milliseconds. An attempt after
    an interrupted one adds to its seconds. An attempt after a finished one counts only if it took longer.

    >>> attempts = Attempts("cogo.lemma-3", Setting("quick"))
    >>> with attempts:
    ...     total = sum(range(10))
    >>> 0 <= attempts.seconds < 1
    True
    """

    def __init__(self, id: str, setting: Setting) -> None:
        self._path: Path = setting.work / "attempts" / f"{id}.{setting.scale}.seconds"
        self._resumes = setting.scale != "quick"
        self._interrupted, self._finished = _read(self._path) if self._resumes else (0.0, 0.0)
        self._start, self._stack = 0.0, ExitStack()
        self._credited: list[float] = []
        self.seconds = 0.0

    def __enter__(self) -> "Attempts":
        self._start = time.perf_counter()
        self._credited = self._stack.enter_context(credited())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        attempt = time.perf_counter() - self._start
        self._stack.close()
        self.seconds = max(self._finished, attempt + max(self._interrupted, sum(self._credited)))
        if self._resumes:
            state = "finished" if error is None else "interrupted"
            seconds = self.seconds if error is None else self._interrupted + attempt
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, f"{seconds!r} {state}".encode())


def _read(path: Path) -> tuple[float, float]:
    """Return the seconds of interrupted attempts, and those of a finished one; one of the two is 0."""
    if not path.exists():
        return 0.0, 0.0
    seconds, _, state = path.read_text().partition(" ")
    return (0.0, float(seconds)) if state == "finished" else (float(seconds), 0.0)
