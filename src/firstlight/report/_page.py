"""The HTML page: templates filled with views, figures inlined, nothing loaded from anywhere."""

import functools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from firstlight import plots
from firstlight._files import write_atomically
from firstlight.records import ClaimRecord, FigureData, RunRecord
from firstlight.records.figure import unpack_panels
from firstlight.report._format import duration, text_of
from firstlight.report._views import (
    ClaimView,
    Environment,
    ReportView,
    RunView,
    claim_view,
    run_view,
)

_View = TypeVar("_View", RunView, ClaimView)


def render(
    runs: Sequence[RunView | RunRecord] = (),
    claims: Sequence[ClaimView | ClaimRecord] = (),
    figures: Mapping[str, FigureData] | None = None,
    *,
    title: str = "firstlight report",
    papers: Mapping[str, str] | None = None,
    created: str = "",
) -> str:
    """One HTML page with everything in it: no request to the network, no script needed to read it.

    **Arguments:**

    - `runs`, `claims`: records, or views of them; `run_view(record, figures=…)` adds figures to a run.
    - `figures`: digest → figure, for the digests that the runs and the claims name.
    - `papers`: key → title, in the order of the sections; the registered papers if not given.
    - `created`: when the page was made, as ISO 8601; now if not given.
    """
    drawable = dict(figures or {})
    run_views = [run if isinstance(run, RunView) else run_view(run) for run in runs]
    claim_views = [claim if isinstance(claim, ClaimView) else claim_view(claim) for claim in claims]
    view = ReportView(
        title=title,
        created=_date(created or datetime.now(UTC).isoformat()),
        runs=_anchored(run_views, [f"run-{run.id[:12]}" for run in run_views]),
        claims=_anchored(claim_views, [claim.id for claim in claim_views]),
        papers=_sections(claim_views, _registered_papers() if papers is None else papers),
        environments=_environments([*run_views, *claim_views]),
    )
    draw = functools.partial(_drawn, seen=Counter())
    return _templates().get_template("report.html").render(view=view, figures=drawable, draw=draw)


def write(path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Path:
    """`render(...)` into a file, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/report.html", title="Empty", papers={}).read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    return write_atomically(path, render(*args, **kwargs).encode())


def _anchored(views: Sequence[_View], names: Sequence[str]) -> tuple[_View, ...]:
    # One claim may be shown at two scales; links need a name for each.
    seen: Counter[str] = Counter()
    anchored = []
    for view, name in zip(views, names, strict=True):
        seen[name] += 1
        anchored.append(replace(view, anchor=name if seen[name] == 1 else f"{name}--{seen[name]}"))
    return tuple(anchored)


def _registered_papers() -> dict[str, str]:
    from firstlight.claims._registry import PAPERS

    return {paper.key: paper.title for paper in PAPERS}


def _sections(claims: Sequence[ClaimView], papers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    present = dict.fromkeys(claim.paper for claim in claims)
    ordered = [*(key for key in papers if key in present), *(key for key in present if key not in papers)]
    return tuple((key, papers.get(key, key)) for key in ordered)


def _environments(shown: Sequence[RunView | ClaimView]) -> tuple[Environment, ...]:
    # Newest first: a page may join records of several machines, or from before and after an update.
    ordered = sorted(shown, key=lambda one: one.created, reverse=True)
    found = (Environment(one.machine, one.versions) for one in ordered if one.machine or one.versions)
    return tuple(dict.fromkeys(found))


def _date(created: str) -> str:
    return datetime.fromisoformat(created).strftime("%Y-%m-%d %H:%M %Z").strip()


@functools.cache
def _templates():
    """The packaged templates; every value is escaped, whatever it is put into."""
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
    """The figure as SVG; each panel on its own, so that a narrow page can put them below each other."""
    from markupsafe import Markup

    several = figure.kind == "panels"
    drawings = []
    for part in unpack_panels(figure) if several else (figure,):
        drawings.append(Markup(plots.svg(part, heading=several, styled=False, copy=seen[part.digest])))
        seen[part.digest] += 1
    return drawings


def _variables(theme: plots.Theme) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in theme.variables().items())
