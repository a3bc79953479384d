"""Memory and disk space that this process may still use, as far as the system reports them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Return the bytes available without swapping, within the container's limit; None if unknown.

    Linux reports available memory. Elsewhere the result is half of the installed memory.

    >>> (available_memory() or 1) > 0
    True
    """
    known = [bytes_ for bytes_ in (_from_meminfo() or _half_installed(), *_from_cgroups()) if bytes_ is not None]
    return max(min(known), 0) if known else None


def free_disk(path: str | os.PathLike[str]) -> int | None:
    """Return the free bytes on the disk of a file that need not exist yet; None if unknown.

    >>> (free_disk("not/there/yet.sqlite") or 1) > 0
    True
    """
    try:
        place = Path(os.path.realpath(path))  # a link may lead to another disk
        return shutil.disk_usage(next(folder for folder in place.parents if folder.is_dir())).free
    except (OSError, StopIteration, ValueError):
        return None


def _from_meminfo() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in (PROC / "meminfo").read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _half_installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return None


def _from_cgroups() -> Iterator[int]:
    """Yield the remaining bytes under each memory limit of a container or a job scheduler."""
    try:
        own = [line.split(":", 2) for line in (PROC / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in (entry for entry in own if len(entry) == 3):
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / "memory" if controllers else CGROUPS
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        folder = root / path.lstrip("/")
        for place in (folder, *folder.parents):
            if (left := _left(place, *names)) is not None:
                yield left
            if place == root:
                break


def _left(folder: Path, limit: str, usage: str) -> int | None:
    try:
        left = int((folder / limit).read_text()) - int((folder / usage).read_text())
        # The kernel takes back cached files before it refuses memory.
        lines = [line.split() for line in (folder / "memory.stat").read_text().splitlines()]
        return left + next((int(size) for name, size in lines if name == "inactive_file"), 0)
    except (OSError, ValueError):
        return None  # no limit ("max"), or no such file
