"""The time that a measurement took, with the attempts that were interrupted before it ended."""

import time
from pathlib import Path
from types import TracebackType

from firstlight._files import write_atomically
from firstlight.claims._check import Setting
from firstlight.claims._evidence import Evidence


class Attempts:
    """Time a measurement; an interrupted one leaves its seconds in the working directory for the next.

    Long measurements resume from saved parts, so that the last attempt alone may take milliseconds.

    >>> attempts = Attempts("cogo.lemma-3", Setting("quick"))
    >>> with attempts:
    ...     total = sum(range(10))
    >>> 0 <= attempts.total(None) < 1
    True
    """

    def __init__(self, id: str, setting: Setting) -> None:
        self._path: Path = setting.work / "attempts" / f"{id}.{setting.scale}.seconds"
        self._resumes = setting.scale != "quick"
        self._before = float(self._path.read_text()) if self._resumes and self._path.exists() else 0.0
        self._start = self._seconds = 0.0

    def __enter__(self) -> "Attempts":
        self._start = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._seconds = self._before + time.perf_counter() - self._start
        if not self._resumes:
            return
        if error is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, repr(self._seconds).encode())
        else:
            self._path.unlink(missing_ok=True)

    def total(self, recorded: Evidence | None) -> float:
        """Return the seconds of all attempts, or those of recorded evidence whose saved parts may have been used."""
        return max(self._seconds, recorded.seconds if recorded is not None and self._resumes else 0.0)
