"""The claims as a site: one page per claim with its evidence and neighbourhood, and an index with the graph."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from firstlight import claims as registry
from firstlight._files import write_atomically
from firstlight.claims import Claim, ClaimGraph
from firstlight.records import ClaimRecord
from firstlight.report._claim_view import ClaimView, claim_view
from firstlight.report._figure_table import figure_tables
from firstlight.report._page import _drawn, _templates

_BOX = (196, 26)
_STEP = (256, 38)
_MARGIN = 16


@dataclass(frozen=True)
class DrawnNode:
    """A claim in a drawing: `x` and `y` are the upper left corner of its box."""

    id: str
    title: str
    status: str
    scale: str
    founded: bool
    centre: bool
    href: str
    x: float
    y: float


@dataclass(frozen=True)
class DrawnGraph:
    """A graph with the coordinates of its boxes, and its edges as SVG paths."""

    width: float
    height: float
    label: str
    nodes: tuple[DrawnNode, ...]
    edges: tuple[str, ...]
    box: tuple[int, int] = _BOX


@dataclass(frozen=True)
class ClaimPage:
    """The page of one claim: views by scale, what it uses, what uses it, what would fall with it, its graph as SVG.

    A row of `settings` has a field, its printed value (None if it is not printed), and the value used in each view.
    """

    claim: Claim
    status: str
    views: tuple[ClaimView, ...]
    not_run: tuple[str, ...]
    uses: tuple[Claim, ...]
    used_by: tuple[Claim, ...]
    falls: tuple[str, ...]
    founded: bool
    graph: str
    stale: tuple[str, ...] = ()
    commits: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[tuple[str, Any, tuple[Any, ...]], ...] = ()


def graph_svg(graph: ClaimGraph) -> str:
    """Return the graph as an SVG document, readable on a light and on a dark background.

    >>> from firstlight.claims import claim_graph, find
    >>> graph_svg(claim_graph(find(["cogo.lemma-3"]))).startswith("<svg")
    True
    """
    return _svg(graph, standalone=True).strip() + "\n"


def write_claims(folder: Path, claims: Sequence[Claim] | None = None) -> Path:
    """Write `index.html` and one `<id>.html` per claim into a folder; return the index.

    The address of a claim's page does not change. Pages of claims that are not registered any more are left alone.
    """
    everything = registry.all_claims()
    chosen = everything if claims is None else tuple(claims)
    folder.mkdir(parents=True, exist_ok=True)
    graph = registry.claim_graph(everything)
    for claim in chosen:
        page = claim_page(claim, everything, graph)
        write_atomically(folder / f"{claim.id}.html", render_claim(page).encode())
    text = render_claims(everything, graph, pages=_write_pack_pages(folder))
    return write_atomically(folder / "index.html", text.encode())


def claim_page(claim: Claim, everything: Sequence[Claim] | None = None, graph: ClaimGraph | None = None) -> ClaimPage:
    """Return the page of a claim: its evidence by scale, what it uses, and what would fall with it.

    **Arguments:**

    - `claim`: the claim.
    - `everything`: all claims; those that are registered if not given.
    - `graph`: the graph of all claims, if it is already there.
    """
    everything = registry.all_claims() if everything is None else everything
    graph = registry.claim_graph(everything) if graph is None else graph
    by_id, evidence = {other.id: other for other in everything}, registry.recorded(claim.id)
    node = next(node for node in graph.nodes if node.id == claim.id)
    near = registry.claim_graph(registry.neighbourhood(claim.id, everything), within=everything)
    return ClaimPage(
        claim=claim,
        status=node.status,
        views=tuple(_evidence_view(claim, evidence[scale]) for scale in reversed(evidence)),
        not_run=tuple(scale for scale in claim.scales if scale not in evidence),
        uses=tuple(by_id[used] for used in claim.uses),
        used_by=tuple(by_id[user] for user in registry.used_by(everything).get(claim.id, ())),
        falls=registry.impact(claim.id, everything),
        founded=node.founded,
        graph=_svg(near, links=True, centre=claim.id),
        stale=tuple(scale for scale, record in evidence.items() if registry.is_stale(record, claim)),
        commits={scale: record.commit for scale, record in evidence.items()},
        settings=_settings(claim, [evidence[scale] for scale in reversed(evidence)]),
    )


def render_claim(page: ClaimPage, template: str = "claim.html", **context: Any) -> str:
    """Return the page of a claim as HTML; `template` and `context` are those of the web lab, or the defaults."""
    draw = functools.partial(_drawn, seen=Counter())
    drawing = Markup(page.graph)
    return (
        _templates().get_template(template).render(page=page, graph=drawing, draw=draw, tables=figure_tables, **context)
    )


def render_claims(
    everything: Sequence[Claim],
    graph: ClaimGraph,
    template: str = "claims.html",
    *,
    pages: Mapping[str, str] | None = None,
    **context: Any,
) -> str:
    """Return the index of claims with their graph as HTML; `pages` has the files of packs that have a page."""
    pages = pages or {}
    titles = {paper.key: paper.title for paper in registry.papers()}
    rows = [(key, [node for node in graph.nodes if node.paper == key]) for key in titles]
    order = {claim.id: place for place, claim in enumerate(everything)}
    rows = [(titles[key], sorted(own, key=lambda node: order[node.id]), pages.get(key, "")) for key, own in rows if own]
    counts = Counter(node.status for node in graph.nodes)
    drawing = Markup(_svg(graph, links=True))
    return _templates().get_template(template).render(papers=rows, graph=drawing, counts=counts, **context)


def _write_pack_pages(folder: Path) -> dict[str, str]:
    """Write the page of each installed pack that has one, as `<key>.html`; return the file names by key."""
    names = {}
    for pack in registry.packs():
        if pack.docs is not None and pack.docs.is_file():
            names[pack.paper.key] = f"{pack.paper.key}.html"
            text = pack.docs.read_text(encoding="utf-8")
            page = _templates().get_template("pack.html").render(paper=pack.paper, text=text)
            write_atomically(folder / names[pack.paper.key], page.encode())
    return names


def _settings(claim: Claim, records: Sequence[registry.Evidence]) -> tuple[tuple[str, Any, tuple[Any, ...]], ...]:
    """Return each field of the setting with its printed value and the one used in each record."""
    names = dict.fromkeys([*claim.paper_setting, *(name for record in records for name in record.setting)])
    return tuple(
        (name, claim.paper_setting.get(name), tuple(record.setting.get(name) for record in records)) for name in names
    )


def _evidence_view(claim: Claim, evidence: registry.Evidence) -> ClaimView:
    """Return the view of recorded evidence; figures are drawn where their arrays are there."""
    record = ClaimRecord(
        paper=claim.paper,
        title=claim.title,
        locator=claim.locator,
        statement=claim.statement,
        corrected=claim.corrected or "",
        expected_verdict=evidence.status,
        evidence=evidence.note,
        command=registry.rerun_command(claim, registry.Setting(evidence.scale)),
        **evidence.model_dump(exclude={"note", "commit"}),
    )
    return claim_view(record, {figure.digest: figure for figure in registry.recorded_figures(evidence)})


def _svg(graph: ClaimGraph, *, links: bool = False, centre: str = "", standalone: bool = False) -> str:
    drawn = _drawn_graph(graph, links, centre)
    return _templates().get_template("graph.svg").render(graph=drawn, standalone=standalone, linked=links)


def _drawn_graph(graph: ClaimGraph, links: bool, centre: str) -> DrawnGraph:
    corners = {node.id: _corner(node.column, node.row) for node in graph.nodes}
    nodes = tuple(
        DrawnNode(
            node.id,
            node.title,
            node.status,
            node.scale or "",
            node.founded,
            node.id == centre,
            f"{node.id}.html" if links else "",
            *corners[node.id],
        )
        for node in graph.nodes
    )
    width = max((x for x, _ in corners.values()), default=0) + _BOX[0] + _MARGIN
    height = max((y for _, y in corners.values()), default=0) + _BOX[1] + _MARGIN
    edges = tuple(_path(corners[claim], corners[used]) for claim, used in graph.edges)
    return DrawnGraph(width, height, f"{len(nodes)} claims and what they rest on", nodes, edges)


def _corner(column: int, row: float) -> tuple[float, float]:
    return _MARGIN + column * _STEP[0], round(_MARGIN + row * _STEP[1], 1)


def _path(claim: tuple[float, float], used: tuple[float, float]) -> str:
    """Return a curve from the right side of what is used to the left side of the claim."""
    start = (used[0] + _BOX[0], used[1] + _BOX[1] / 2)
    end = (claim[0], claim[1] + _BOX[1] / 2)
    bend = max(24.0, (end[0] - start[0]) / 2)
    points = (start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end)
    first, *others = (f"{x:g} {y:g}" for x, y in points)
    return f"M{first}C{' '.join(others)}"
