"""The blueprint: which claim rests on which, what falls with it, and where to draw it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from firstlight.claims._claim import Claim
from firstlight.claims._digest import check_digest
from firstlight.claims._evidence import recorded
from firstlight.records import ClaimScale, ClaimVerdict

NOT_RUN = "not run"
CONFIRMED = ("holds", "holds-as-corrected")


@dataclass(frozen=True)
class GraphNode:
    """A claim in the graph, with the verdict of its largest recorded scale.

    **Arguments:**

    - `id`, `title`, `paper`: of the claim.
    - `status`: the verdict, or "not run".
    - `scale`: the scale of the verdict; None if nothing is recorded.
    - `stale`: whether the check has changed since.
    - `founded`: whether the claim and everything it rests on holds, as printed or as corrected.
    - `column`, `row`: place in the drawing; a claim is to the right of all that it uses.
    """

    id: str
    title: str
    paper: str
    status: ClaimVerdict | str
    scale: ClaimScale | None
    stale: bool
    founded: bool
    column: int = 0
    row: float = 0.0


@dataclass(frozen=True)
class ClaimGraph:
    """Claims as nodes and uses as edges (from a claim to what it uses).

    >>> from firstlight.claims import find
    >>> graph = claim_graph(find(["cogo"]))
    >>> sorted(graph.to_json())
    ['edges', 'nodes']
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return `{nodes: [...], edges: [{from, to}]}`; an edge points from a claim to what it uses."""
        edges = [{"from": claim, "to": used} for claim, used in self.edges]
        return {"nodes": [asdict(node) for node in self.nodes], "edges": edges}


def claim_graph(claims: Iterable[Claim], within: Iterable[Claim] | None = None) -> ClaimGraph:
    """Return the graph of claims; raise `ValueError` for an unknown id or a circle.

    **Arguments:**

    - `claims`: the claims to show.
    - `within`: all claims, on which `founded` depends; those shown if not given.
    """
    shown = list(claims)
    known = {claim.id: claim for claim in (shown if within is None else within)} | {claim.id: claim for claim in shown}
    order = topological_order(list(known.values()))
    nodes: dict[str, GraphNode] = {}
    for id in order:
        claim = known[id]
        status, scale, stale = latest_verdict(claim)
        founded = status in CONFIRMED and all(nodes[used].founded for used in claim.uses)
        nodes[id] = GraphNode(id, claim.title, claim.paper, status, scale, stale, founded)
    ids = {claim.id for claim in shown}
    edges = tuple((claim.id, used) for claim in shown for used in claim.uses if used in ids)
    places = _layout([claim.id for claim in shown], edges)
    placed = (asdict(nodes[id]) | {"column": column, "row": row} for id, (column, row) in places.items())
    return ClaimGraph(tuple(GraphNode(**values) for values in placed), edges)


def latest_verdict(claim: Claim) -> tuple[ClaimVerdict | str, ClaimScale | None, bool]:
    """Return verdict and scale of the largest recorded scale, and whether the check has changed since."""
    evidence = list(recorded(claim.id).values())
    if not evidence:
        return NOT_RUN, None, False
    last = evidence[-1]
    return last.status, last.scale, last.check_digest != check_digest(claim)


def topological_order(claims: Sequence[Claim]) -> list[str]:
    """Return ids so that each follows what it uses; raise `ValueError` for an unknown id or a circle.

    >>> a = Claim("x.a-1", "", "", "", "m:f", uses=("x.b-1",))
    >>> b = Claim("x.b-1", "", "", "", "m:f")
    >>> topological_order([a, b])
    ['x.b-1', 'x.a-1']
    """
    uses = {claim.id: claim.uses for claim in claims}
    order: list[str] = []
    path: list[str] = []

    def visit(id: str) -> None:
        if id in path:
            raise ValueError(f"claims rest on each other in a circle: {' → '.join([*path[path.index(id) :], id])}")
        if id in done:
            return
        if id not in uses:
            raise ValueError(f"{path[-1]} uses {id!r}, which is no claim")
        path.append(id)
        for used in uses[id]:
            visit(used)
        path.pop()
        done.add(id)
        order.append(id)

    done: set[str] = set()
    for claim in claims:
        visit(claim.id)
    return order


def foundations(id: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Return the ids of all claims on which a claim rests, directly or not, in topological order."""
    return _reachable(id, claims, {claim.id: claim.uses for claim in claims})


def impact(id: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Return the ids of all claims that fall if a claim falls, in topological order.

    >>> a = Claim("x.a-1", "", "", "", "m:f", uses=("x.b-1",))
    >>> b = Claim("x.b-1", "", "", "", "m:f")
    >>> impact("x.b-1", [a, b]), foundations("x.a-1", [a, b])
    (('x.a-1',), ('x.b-1',))
    """
    return _reachable(id, claims, used_by(claims))


def used_by(claims: Iterable[Claim]) -> Mapping[str, tuple[str, ...]]:
    """Return for each claim the ids of the claims that use it."""
    users: dict[str, list[str]] = defaultdict(list)
    for claim in claims:
        for used in claim.uses:
            users[used].append(claim.id)
    return {id: tuple(ids) for id, ids in users.items()}


def neighbourhood(id: str, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return a claim with what it uses and what uses it, in the order of `claims`."""
    near = {id, *next(claim.uses for claim in claims if claim.id == id), *used_by(claims).get(id, ())}
    return tuple(claim for claim in claims if claim.id in near)


def _reachable(id: str, claims: Sequence[Claim], steps: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    reached: set[str] = set()
    waiting = [id]
    while waiting:
        for other in steps.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return tuple(other for other in topological_order(claims) if other in reached)


def _layout(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, tuple[int, float]]:
    """Place each claim one column right of the last one it uses; order rows so that edges cross little."""
    uses: dict[str, list[str]] = {id: [] for id in ids}
    users: dict[str, list[str]] = {id: [] for id in ids}
    for claim, used in edges:
        uses[claim].append(used)
        users[used].append(claim)
    column: dict[str, int] = {}

    def depth(id: str) -> int:
        if id not in column:
            column[id] = 1 + max((depth(used) for used in uses[id]), default=-1)
        return column[id]

    for id in ids:
        depth(id)
    columns = [[id for id in ids if column[id] == c] for c in range(max(column.values(), default=-1) + 1)]
    tallest = max((len(members) for members in columns), default=0)
    rows: dict[str, float] = {}
    for members in columns:
        rows |= _spread(members, tallest)
    for _ in range(8):  # a few sweeps of the barycentre rule settle the order
        for members in columns:
            near = {id: [rows[other] for other in (*uses[id], *users[id])] for id in members}
            wanted = {id: sum(near[id]) / len(near[id]) if near[id] else rows[id] for id in members}
            rows |= _spread(sorted(members, key=wanted.__getitem__), tallest)
    return {id: (column[id], rows[id]) for id in ids}


def _spread(members: Sequence[str], tallest: int) -> dict[str, float]:
    """Return evenly spaced rows for a column, centred on the tallest one."""
    start = (tallest - len(members)) / 2
    return {id: start + place for place, id in enumerate(members)}
