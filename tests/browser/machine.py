"""How much of this machine a test can have: targets in seconds mean a machine that does nothing else."""

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SPIN_SECONDS = 0.4
LEAST = 0.05
_BLOCK = bytes(2**20)


class Share:
    """The share of the processors that this test and its processes could have, from `start` to `free`.

    Other processes are what the kernel's clocks show beyond the own process and its descendants. Their load is
    counted over the whole stretch: a look before and one after would miss what came and went in between. Others of low
    priority fill a machine and delay nobody, so the share is at least that of the time in which own threads ran,
    among the time in which they wanted to.
    """

    def __init__(self):
        self._start, self._threads = _clocks(), _threads(_family())
        self._first = free_share() if self._start is None else 1.0

    def free(self):
        """Return the share since the start: 1 on a machine that did nothing else."""
        now = _clocks()
        if self._start is None or now is None:
            return min(self._first, free_share())
        busy, own, whole = (after - before for after, before in zip(now, self._start, strict=True))
        left = 1 - max(0.0, busy - own) / max(whole, 1e-9)
        return min(1.0, max(LEAST, left, self._prompt()))

    def _prompt(self):
        """Return the running time of own threads as a share of their running and waiting time, or 0 if unknown."""
        ran, waited = 0, 0
        for thread, (running, waiting) in _threads(_family()).items():
            before = self._threads.get(thread, (0, 0))
            ran, waited = ran + running - before[0], waited + waiting - before[1]
        return ran / (ran + waited) if ran else 0.0


def free_share():
    """Return the share of the processors' time that threads get which want all of it: 1 on an idle machine.

    As many threads as there are processors compute digests, which release the interpreter's lock, and compare their
    processor time with the wall clock.
    """
    cores = len(_processors())

    def spin(_):
        wall, own = time.perf_counter(), time.thread_time()
        while time.perf_counter() - wall < SPIN_SECONDS:
            hashlib.sha256(_BLOCK).digest()
        return (time.thread_time() - own) / (time.perf_counter() - wall)

    with ThreadPoolExecutor(cores) as pool:
        return min(1.0, sum(pool.map(spin, range(cores))) / cores)


def _processors():
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


def _clocks():
    """Return busy, own and whole processor time in ticks, or None where there is no /proc."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        ours = {f"cpu{number}" for number in _processors()}
        times = [[int(word) for word in line.split()[1:9]] for line in lines if line.split()[0] in ours]
        whole = sum(map(sum, times))
        idle = sum(row[3] + row[4] for row in times)  # idle, and waiting for a disk
        return (whole - idle, _own(), whole) if whole else None
    except (OSError, ValueError, IndexError):
        return None


def _own():
    """Return the ticks of this process and its descendants, with those of children that have ended."""
    return sum(_family().values())


def _family():
    """Return the ticks of each process from this one down, children that have ended included."""
    ticks, children = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid, parent = int(folder.name), int(words[1])
        ticks[pid] = sum(int(word) for word in words[11:15])
        children.setdefault(parent, []).append(pid)
    family, waiting = {}, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        family[pid] = ticks.get(pid, 0)
        waiting += children.get(pid, ())
    return family


def _threads(pids):
    """Return the nanoseconds that each thread of the processes ran, and those that it waited for a processor."""
    times = {}
    for pid in pids:
        for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                running, waiting, _ = file.read_text().split()
            except (OSError, ValueError):
                continue
            times[file] = int(running), int(waiting)
    return times
