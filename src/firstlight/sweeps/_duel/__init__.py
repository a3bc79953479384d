"""Optimizers compared on one task at equal compute."""

from firstlight.sweeps._duel._duel import DuelInterrupted, DuelProgress, run_duel
from firstlight.sweeps._duel._interval import median_interval
from firstlight.sweeps._duel._plan import OPTIMIZERS, Duel

__all__ = ["OPTIMIZERS", "Duel", "DuelInterrupted", "DuelProgress", "median_interval", "run_duel"]
