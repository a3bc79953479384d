"""The lenses that a spec can name: those of every theory, of installed packs, and the built-in `norms`."""

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import _plugins, flow
from firstlight._suggest import closest
from firstlight.records import FigureData, RunRecord, RunSpec, SpecError, figure

_THEORIES: tuple[str, ...] = (
    "firstlight.theories.li2",
    "firstlight.theories.cogo",
    "firstlight.theories.agf",
    "firstlight.theories.manifold",
    "firstlight.theories.fact",
    "firstlight.theories.progress",
)
"""Modules that export `LENSES`; each is imported when lenses are first asked for."""


GROUP = "firstlight.lenses"
"""Entry-point group under which another package registers a tuple of lenses."""


def _norm_columns(record: RunRecord) -> dict[str, Any]:
    scalars = record.table.scalars() if len(record.table) else {}
    return {name.removeprefix("norm."): scalars[name] for name in scalars if name.startswith("norm.")}


def _norm_summary(record: RunRecord) -> Mapping[str, Any]:
    columns = _norm_columns(record)
    changes = [f"The norm of {name} went from {c[0]:.3g} to {c[-1]:.3g}." for name, c in columns.items()]
    first, last = ({name: float(column[i]) for name, column in columns.items()} for i in (0, -1))
    return {"first": first, "last": last, "story": " ".join(changes)}


def _norm_figures(record: RunRecord) -> tuple[FigureData, ...]:
    columns = _norm_columns(record)
    if not columns:
        return ()
    series = [figure.Series(name, record.table.step, column) for name, column in columns.items()]
    caption = (
        "The size of each weight matrix: the square root of the sum of its squared entries. Fitting makes the weights "
        "grow, and weight decay makes them shrink."
    )
    axis, title = figure.time_axis(record.spec), "Norms of the weights"
    return (figure.curves(series, x=axis, y="norm", title=title, caption=caption),)


NORMS = flow.Lens(
    name="norms",
    title="Norms of the weights and of their updates",
    observables=(flow.norms,),
    summarise=_norm_summary,
    figure_data=_norm_figures,
)


@functools.cache
def _collected() -> Mapping[str, flow.Lens]:
    collected = [NORMS]
    for module in _THEORIES:
        collected += importlib.import_module(module).LENSES
    for name, more in _plugins.registered(GROUP):
        if not all(isinstance(lens, flow.Lens) for lens in more):
            raise ValueError(f"the entry point {name!r} of {GROUP} must be a tuple of flow.Lens; got {more!r}")
        collected += more
    names = [lens.name for lens in collected]
    if len(set(names)) < len(names):
        raise ValueError(f"every lens needs a name of its own, got {sorted(names)}")
    return {lens.name: lens for lens in collected}


def lenses() -> dict[str, flow.Lens]:
    """Return every known lens by name.

    >>> lenses()["norms"].title
    'Norms of the weights and of their updates'
    """
    return dict(_collected())


THEORY_LENSES = ("li2", "cogo", "agf", "manifold", "fact")
"""The lenses of the five papers."""


def with_lenses(spec: RunSpec) -> RunSpec:
    """Return the spec with the norms and the lenses of the five papers, as far as they apply to it.

    >>> with_lenses(RunSpec()).lenses
    ('norms', 'li2', 'cogo', 'agf', 'manifold', 'fact')
    """
    known = lenses()
    names = tuple(name for name in ("norms", *THEORY_LENSES) if not known[name].reason_not_applicable(spec))
    return spec.model_copy(update={"lenses": names})


def select_lenses(spec: RunSpec) -> tuple[flow.Lens, ...]:
    """Return the lenses that a spec names, in order; a `SpecError` says which name is unknown or does not apply.

    >>> [lens.name for lens in select_lenses(RunSpec(lenses=("norms",)))]
    ['norms']
    >>> select_lenses(RunSpec(lenses=("norm",)))
    Traceback (most recent call last):
    firstlight.records._explain.SpecError: lenses[0]: unknown lens "norm"; did you mean "norms"? ...
    """
    if not spec.lenses:
        return ()  # the theories take a while to import
    known, problems = lenses(), []
    for i, name in enumerate(spec.lenses):
        if name not in known:
            close = closest(name, known)
            hint = f'did you mean "{close}"? ' if close else ""
            problems.append(f'lenses[{i}]: unknown lens "{name}"; {hint}The lenses are {", ".join(known)}')
        elif reason := known[name].reason_not_applicable(spec):
            problems.append(f'lenses[{i}]: "{name}" does not apply to this run: {reason}')
    if problems:
        raise SpecError(problems)
    return tuple(known[name] for name in dict.fromkeys(spec.lenses))


def observables(selected: Sequence[flow.Lens]) -> tuple[flow.Observable, ...]:
    """Return the standard observables and those of the lenses, each once."""
    return tuple(dict.fromkeys((flow.standard, *(f for lens in selected for f in lens.observables))))
