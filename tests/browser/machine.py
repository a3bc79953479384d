"""How much of this machine a test can have: targets in seconds mean a machine that does nothing else."""

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

SPIN_SECONDS = 0.4
_BLOCK = bytes(2**20)


def free_share():
    """Return the share of the processors' time that threads get which want all of it: 1 on an idle machine.

    As many threads as there are processors compute digests, which release the interpreter's lock, and compare their
    processor time with the wall clock.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def spin(_):
        wall, own = time.perf_counter(), time.thread_time()
        while time.perf_counter() - wall < SPIN_SECONDS:
            hashlib.sha256(_BLOCK).digest()
        return (time.thread_time() - own) / (time.perf_counter() - wall)

    with ThreadPoolExecutor(cores) as pool:
        return min(1.0, sum(pool.map(spin, range(cores))) / cores)
