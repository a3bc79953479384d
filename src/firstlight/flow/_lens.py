"""A theory's view of a run: what to measure during training, and what to say and draw afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.flow._observe import Observable
from firstlight.records import FigureData, RunRecord, RunSpec, TheoryVerdict


def _always_applicable(spec: RunSpec) -> str:
    return ""


def _no_summary(record: RunRecord) -> Mapping[str, Any]:
    return {}


def _no_figures(record: RunRecord) -> tuple[FigureData, ...]:
    return ()


def _no_verdict(record: RunRecord) -> TheoryVerdict | None:
    return None


@dataclass(frozen=True)
class Lens:
    """Observables to record during a run, and pure functions of the finished `RunRecord`.

    **Arguments:**

    - `name`: the word by which a spec names the lens; its columns are called `<name>.<quantity>`.
    - `title`: a heading for pages.
    - `observables`: what is recorded during training.
    - `reason_not_applicable`: returns '' if the lens applies to a spec, else the reason.
    - `summarise`: returns plain values, among them `story`, one sentence for a reader; `evidence` is optional, a
      mapping from a decision to its reason.
    - `figure_data`: returns the figures of a run.
    - `verdict`: compares the theory's prediction with the measurement; None if nothing was recorded.
    """

    name: str
    title: str
    observables: tuple[Observable, ...] = ()
    reason_not_applicable: Callable[[RunSpec], str] = _always_applicable
    summarise: Callable[[RunRecord], Mapping[str, Any]] = _no_summary
    figure_data: Callable[[RunRecord], tuple[FigureData, ...]] = _no_figures
    verdict: Callable[[RunRecord], TheoryVerdict | None] = _no_verdict
