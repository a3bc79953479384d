"""The jobs of a store: what waits, runs, was stopped or has ended, in a file that survives every process."""

import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from firstlight._files import write_atomically

State = Literal["queued", "running", "paused", "stopped", "finished", "diverged", "failed"]
"""Where a job is; the last three are the ends, and `stopped` can be resumed."""

ENDS = ("finished", "diverged", "failed")

_ENDED = 50


@dataclass(frozen=True)
class Job:
    """A piece of work for a worker, such as a run to train or a claim to check.

    **Attributes:**

    - `id`: the id of the run, or the kind and an id, such as `claim:` with that of the claim.
    - `kind`: the work of a job: "run", "claim", "staircase", "fit", "probe" or "sweep".
    - `title`: a line for lists.
    - `payload`: what the worker needs, as plain values.
    - `state`: where the job is.
    - `done`, `total`: progress in the job's own unit.
    - `message`: a line on the end or the state.
    - `notes`: what a worker reports on the way, such as stages.
    - `turn`: a random name of this submission. It tells a tab that a job ran again and ended between two of its events.
    """

    id: str
    kind: str
    title: str
    payload: dict[str, Any]
    state: State = "queued"
    done: float = 0.0
    total: float = 0.0
    message: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    turn: str = field(default_factory=lambda: secrets.token_hex(4))


class Queue:
    """Jobs in the order of their submission; each change of state is written to the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     queue = Queue(Path(folder) / "jobs.json")
    ...     _ = queue.add(Job("ab12", "run", "Z23", {}))
    ...     Queue(Path(folder) / "jobs.json").next(["run"]).id
    'ab12'
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.jobs: dict[str, Job] = {job.id: job for job in _read(path)}

    def add(self, job: Job) -> Job:
        """Add a job, or queue it again if it was stopped or has ended; a waiting or running job stays as it is."""
        known = self.jobs.get(job.id)
        if known is not None and known.state not in (*ENDS, "stopped"):
            return known
        self.jobs.pop(job.id, None)
        self.jobs[job.id] = job
        self._write()
        return job

    def change(self, id: str, **values: Any) -> Job:
        """Change a job; a new state is written to the file."""
        before = self.jobs[id]
        self.jobs[id] = job = replace(before, **values)
        if job.state != before.state:
            self._write()
        return job

    def remove(self, id: str) -> None:
        """Forget a job."""
        self.jobs.pop(id, None)
        self._write()

    def next(self, kinds: Collection[str]) -> Job | None:
        """Return the first of the waiting jobs of these kinds, or None."""
        return next((job for job in self.jobs.values() if job.state == "queued" and job.kind in kinds), None)

    @property
    def is_busy(self) -> bool:
        """Whether a job waits or runs; a paused job waits for the user."""
        return any(job.state in ("queued", "running", "paused") for job in self.jobs.values())

    def plain(self) -> list[dict[str, Any]]:
        """Return all jobs as plain values, without payloads."""
        return [plain(job) for job in self.jobs.values()]

    def _write(self) -> None:
        for id in forgotten({id: job.state for id, job in self.jobs.items()}):
            del self.jobs[id]
        content = json.dumps({"jobs": [asdict(job) for job in self.jobs.values()]})
        write_atomically(self._path, content.encode())


def forgotten(states: Mapping[str, str]) -> list[str]:
    """Return the ids of the ended jobs beyond the newest fifty, given the state of each job in order.

    >>> forgotten({str(number): "finished" for number in range(52)})
    ['0', '1']
    """
    return [id for id, state in states.items() if state in ENDS][:-_ENDED]


def plain(job: Job) -> dict[str, Any]:
    """Return a job for a page."""
    values = asdict(job)
    del values["payload"]
    return values


def _read(path: Path) -> list[Job]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))["jobs"]
        jobs = [_job(values) for values in stored]
    except (OSError, ValueError, TypeError, KeyError):
        return []  # the records are in the store; only the order of waiting jobs is lost
    # Whatever ran when the recorder died goes on from its checkpoint.
    return [replace(job, state="queued") if job.state in ("running", "paused") else job for job in jobs]


def _job(values: Mapping[str, Any]) -> Job:
    job = Job(**values)
    if not isinstance(job.id, str) or not isinstance(job.payload, dict):
        raise ValueError("a job has an id and a payload")
    return job
