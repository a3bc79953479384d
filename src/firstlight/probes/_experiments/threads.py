"""Experiments leave the user's threads and random numbers as they were."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread while it lasts: threads only wait for each other on small matrices."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Random numbers from a seed of their own while it lasts."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
