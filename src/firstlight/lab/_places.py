"""Files of the lab beside a store: where its recorder listens, its jobs, its log, tables that users pasted."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Places:
    """The files that belong to the store at `store`, an absolute path."""

    store: Path

    def beside(self, ending: str) -> Path:
        """Return the file beside the store with this ending."""
        return self.store.with_name(f"{self.store.name}.{ending}")

    @property
    def address(self) -> Path:
        """Where the recorder listens, with the word that it asks for; readable by the user only."""
        return self.beside("recorder.json")

    @property
    def jobs(self) -> Path:
        """The queue."""
        return self.beside("jobs.json")

    @property
    def log(self) -> Path:
        """What the recorder and its workers print."""
        return self.beside("recorder.log")

    @property
    def tables(self) -> Path:
        """Cayley tables that were pasted or uploaded, named by their digests."""
        return self.beside("tables")

    @property
    def pasted(self) -> Path:
        """Data that were pasted into the staircase room, named by their digests."""
        return self.beside("pasted")

    def checkpoint(self, id: str) -> Path:
        """Return the folder of a run's checkpoint, where `firstlight run` looks for it too."""
        return self.beside("checkpoints") / id

    def sweep_checkpoint(self, job: str) -> Path:
        """Return the folder of a sweep's checkpoints, given the id of its job."""
        return self.beside("checkpoints") / job.replace(":", "-")


def write_private(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(values, file)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_address(path: Path) -> dict[str, Any] | None:
    """Return the address of a recorder, or None if the file is absent or no address."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return values if {"port", "token", "pid"} <= values.keys() else None
    except (OSError, ValueError, AttributeError):
        return None
