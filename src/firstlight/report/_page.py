"""The HTML page: templates filled with views, figures inlined, nothing loaded from anywhere."""

import functools
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from firstlight import plots
from firstlight._files import write_atomically
from firstlight.records import (
    STAIRCASE,
    ClaimRecord,
    DuelRecord,
    FigureData,
    FitRecord,
    PhaseRecord,
    ProbeRecord,
    RunRecord,
)
from firstlight.records.figure import unpack_panels
from firstlight.report._claim_view import ClaimView, claim_view
from firstlight.report._duel_view import DuelView, duel_view
from firstlight.report._fit_view import FitView, fit_views
from firstlight.report._format import duration, text_of
from firstlight.report._glossary import Glossary
from firstlight.report._phase_view import PhaseView, phase_view
from firstlight.report._probe_view import ProbeView, probe_view
from firstlight.report._run_view import RunView, run_view
from firstlight.report._staircase_view import StaircaseView, staircase_view

PageRecord = RunRecord | ClaimRecord | FitRecord | ProbeRecord | DuelRecord | PhaseRecord
"""A record that a page can show."""

_View = TypeVar("_View", RunView, ClaimView, FitView, ProbeView, DuelView, StaircaseView, PhaseView)


@dataclass(frozen=True)
class Environment:
    """Where records were made: the machine in words, and (package, version) pairs."""

    machine: str
    versions: tuple[tuple[str, str], ...]

    @property
    def firstlight(self) -> str:
        """The version of this package, or ''."""
        return dict(self.versions).get("firstlight", "")


@dataclass(frozen=True)
class PageView:
    """The whole page: `papers` are (key, title) in the order of the sections; environments, newest first."""

    title: str
    created: str
    runs: tuple[RunView, ...] = ()
    claims: tuple[ClaimView, ...] = ()
    fits: tuple[FitView, ...] = ()
    probes: tuple[ProbeView, ...] = ()
    duels: tuple[DuelView, ...] = ()
    staircases: tuple[StaircaseView, ...] = ()
    diagrams: tuple[PhaseView, ...] = ()
    papers: tuple[tuple[str, str], ...] = ()
    environments: tuple[Environment, ...] = ()

    def of_paper(self, key: str) -> tuple[ClaimView, ...]:
        """Return the claims of one paper, in order."""
        return tuple(claim for claim in self.claims if claim.paper == key)


def render(
    records: Iterable[PageRecord] | PageRecord = (),
    *,
    title: str = "firstlight report",
    figures: Iterable[FigureData] = (),
    papers: Mapping[str, str] | None = None,
    created: str = "",
) -> str:
    """Return one HTML page that needs no request to the network and no script to be read.

    **Arguments:**

    - `records`: one record, or runs, claims, fits, probes, duels and phase diagrams in any order; all but claims
      bring their figures.
    - `title`: the heading of the page.
    - `figures`: the figures that claims name by their digests, see `Store.figures_of`.
    - `papers`: key → title, in the order of the sections; the registered papers if not given.
    - `created`: when the page was made, as ISO 8601; now if not given.
    """
    drawable = {figure.digest: figure for figure in figures}
    records = _checked(records)
    runs = [run_view(record) for record in records if isinstance(record, RunRecord)]
    claims = [claim_view(record, drawable) for record in records if isinstance(record, ClaimRecord)]
    fitted = [record for record in records if isinstance(record, FitRecord)]
    fits = fit_views([record for record in fitted if record.estimator != STAIRCASE])
    staircases = [staircase_view(record) for record in fitted if record.estimator == STAIRCASE]
    probes = [probe_view(record) for record in records if isinstance(record, ProbeRecord)]
    duels = [duel_view(record) for record in records if isinstance(record, DuelRecord)]
    diagrams = [phase_view(record) for record in records if isinstance(record, PhaseRecord)]
    view = PageView(
        title=title,
        created=_date(created or datetime.now(UTC).isoformat()),
        runs=_anchored(runs, [f"run-{run.id[:12]}" for run in runs]),
        claims=_anchored(claims, [claim.id for claim in claims]),
        fits=_anchored(fits, [f"fit-{fit.id[:12]}" for fit in fits]),
        probes=_anchored(probes, [f"probe-{probe.id[:12]}" for probe in probes]),
        duels=_anchored(duels, [f"duel-{duel.id[:12]}" for duel in duels]),
        staircases=_anchored(staircases, [f"staircase-{view.id[:12]}" for view in staircases]),
        diagrams=_anchored(diagrams, [f"diagram-{diagram.id[:12]}" for diagram in diagrams]),
        papers=_sections(claims, _registered_papers() if papers is None else papers),
        environments=_environments([*runs, *claims, *fits, *probes, *duels, *staircases, *diagrams]),
    )
    draw = functools.partial(_drawn, seen=Counter())
    return _templates().get_template("report.html").render(view=view, draw=draw, gloss=Glossary())


def _checked(records: Iterable[PageRecord] | PageRecord) -> tuple[PageRecord, ...]:
    # A record is itself iterable: pydantic gives its fields.
    given = (records,) if isinstance(records, PageRecord) else tuple(records)
    for record in given:
        if not isinstance(record, PageRecord):
            raise TypeError(
                "a page shows RunRecord, ClaimRecord, FitRecord, ProbeRecord, DuelRecord and PhaseRecord; "
                f"got {type(record).__name__}. Call .record() on the result of a probe"
            )
    return given


def write(
    path: str | os.PathLike[str],
    records: Iterable[PageRecord] | PageRecord = (),
    *,
    title: str = "firstlight report",
    figures: Iterable[FigureData] = (),
    papers: Mapping[str, str] | None = None,
    created: str = "",
) -> Path:
    """Write the page of `render` into a file, whole or not at all; the arguments are those of `render`.

    The page shows the figures and verdicts that a record holds. A run of version 0.1 or of a killed process holds
    none: pass `runs.complete(record)` to compute them, as the command `firstlight report` does.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/report.html", title="Empty", papers={}).read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    page = render(records, title=title, figures=figures, papers=papers, created=created)
    return write_atomically(path, page.encode())


def _anchored(views: Sequence[_View], names: Sequence[str]) -> tuple[_View, ...]:
    # A page may show a claim at two scales; links need a name for each.
    seen: Counter[str] = Counter()
    anchored = []
    for view, name in zip(views, names, strict=True):
        seen[name] += 1
        anchored.append(replace(view, anchor=name if seen[name] == 1 else f"{name}--{seen[name]}"))
    return tuple(anchored)


def _registered_papers() -> dict[str, str]:
    from firstlight.claims import papers

    return {paper.key: paper.title for paper in papers()}


def _sections(claims: Sequence[ClaimView], papers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    present = dict.fromkeys(claim.paper for claim in claims)
    ordered = [*(key for key in papers if key in present), *(key for key in present if key not in papers)]
    return tuple((key, papers.get(key, key)) for key in ordered)


def _environments(
    views: Sequence[RunView | ClaimView | FitView | ProbeView | DuelView | StaircaseView | PhaseView],
) -> tuple[Environment, ...]:
    # Newest first: a page may join records of several machines, or from before and after an update.
    ordered = sorted(views, key=lambda view: view.created, reverse=True)
    environments = (Environment(view.machine, view.versions) for view in ordered if view.machine or view.versions)
    return tuple(dict.fromkeys(environments))


def _date(created: str) -> str:
    return datetime.fromisoformat(created).strftime("%Y-%m-%d %H:%M %Z").strip()


@functools.cache
def _templates():
    """Return the packaged templates; every value is escaped, wherever a template puts it."""
    import jinja2

    folder = resources.files("firstlight.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "text": text_of, "css": _variables}
    environment.globals |= {"LIGHT": plots.LIGHT, "DARK": plots.DARK, "svg_rules": plots.svg_rules}
    return environment


def _drawn(figure: FigureData, *, seen: Counter[str]) -> list[Any]:
    """Return the figure as SVG; each panel on its own, so that a narrow page can put them below each other."""
    from markupsafe import Markup

    several = figure.kind == "panels"
    drawings = []
    for part in unpack_panels(figure) if several else (figure,):
        drawings.append(Markup(plots.svg(part, heading=several, styled=False, copy=seen[part.digest])))
        seen[part.digest] += 1
    return drawings


def _variables(theme: plots.Theme) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in theme.variables().items())
