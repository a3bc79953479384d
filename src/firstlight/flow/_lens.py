"""A theory's view of a run: what to measure along it, what to say of it, what to draw."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.flow._observe import Observable


def _always(spec: Any) -> str:
    return ""


def _nothing(record: Any) -> Mapping[str, Any]:
    return {}


def _no_figures(record: Any) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True)
class Lens:
    """Observables to take along a run, and pure functions of the finished `RunRecord`.

    `refuses(spec)` is empty where the lens applies and otherwise says why it does not; `summarise(record)` gives
    plain values, among them `story`, one sentence for a reader, and if it likes `evidence`, a table of what was
    decided and why; `figure_data(record)` gives `FigureData`.
    Columns are named `<theory>.<quantity>`.
    """

    name: str
    title: str
    observables: tuple[Observable, ...] = ()
    refuses: Callable[[Any], str] = _always
    summarise: Callable[[Any], Mapping[str, Any]] = _nothing
    figure_data: Callable[[Any], tuple[Any, ...]] = _no_figures
