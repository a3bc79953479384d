"""Room 5, Claims court: every claim with its verdicts, its criteria, its graph, and a check that can be run again."""

import asyncio
from functools import cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from firstlight import claims, report
from firstlight.lab._errors import LabError
from firstlight.lab._pages import ROOMS
from firstlight.lab._state import Lab, body_of, lab_of
from firstlight.records import StoreError

_HTML = "text/html; charset=utf-8"


async def index(request: Request) -> Response:
    """Answer with the table of claims and their graph."""
    text = await asyncio.to_thread(_index, lab_of(request).token)
    return HTMLResponse(text)


async def claim(request: Request) -> Response:
    """Answer with the page of a claim; links of exported pages end in `.html`."""
    lab, wanted = lab_of(request), _claim(request)
    own = await _own(lab, wanted.id)
    page = await asyncio.to_thread(_page, wanted.id)
    context = {"rooms": ROOMS, "here": "/court", "token": lab.token, "own": own}
    return HTMLResponse(await asyncio.to_thread(report.render_claim, page, "lab/claim.html", **context))


async def own(request: Request) -> Response:
    """Answer with the last check of a claim on this machine, as a part of its page."""
    return HTMLResponse(str(await _own(lab_of(request), _claim(request).id)))


async def export(request: Request) -> Response:
    """Answer with a claim as one self-contained page, to be saved."""
    wanted = _claim(request)
    text = await asyncio.to_thread(lambda: report.render_claim(_page(wanted.id)))
    return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{wanted.id}.html"'})


async def export_index(request: Request) -> Response:
    """Answer with the table of claims as one self-contained page, to be saved."""
    text = await asyncio.to_thread(lambda: report.render_claims(claims.all_claims(), _graph()))
    return HTMLResponse(text, headers={"content-disposition": 'attachment; filename="firstlight-claims.html"'})


async def check(request: Request) -> Response:
    """Queue the quick check of a claim."""
    body = await body_of(request)
    wanted = _by_id().get(str(body.get("claim")))
    if wanted is None or "quick" not in wanted.scales:
        raise LabError("there is no claim with this id and a quick check")
    payload = {"claim": wanted.id}
    job = await lab_of(request).client.submit(f"claim:{wanted.id}", "claim", wanted.title, payload)
    return JSONResponse(job)


PAGES = {
    "/court": index,
    "/api/court/export": export_index,
    "/court/{id}": claim,
    "/api/court/{id}/own": own,
    "/api/court/{id}/export": export,
}
CHANGES = {"/api/court": check}


def _claim(request: Request) -> Any:
    wanted = _by_id().get(request.path_params["id"].removesuffix(".html"))
    if wanted is None:
        raise HTTPException(404, "There is no claim with this id.")
    return wanted


@cache
def _by_id() -> dict[str, Any]:
    return {claim.id: claim for claim in claims.all_claims()}


@cache
def _graph() -> Any:
    return claims.claim_graph(claims.all_claims())


@cache
def _page(id: str) -> report.ClaimPage:
    return report.claim_page(_by_id()[id], claims.all_claims(), _graph())


@cache
def _index(token: str) -> str:
    nodes = {node.id: node for node in _graph().nodes}
    rows = []
    for claim in claims.all_claims():
        verdicts = {scale: evidence.status for scale, evidence in claims.recorded(claim.id).items()}
        node = nodes[claim.id]
        rows.append(
            {
                "id": claim.id,
                "paper": claim.paper,
                "title": claim.title,
                "status": node.status,
                "verdicts": verdicts,
                "founded": node.founded,
            }
        )
    titles = {paper.key: paper.title for paper in claims.papers()}
    context = {"rooms": ROOMS, "here": "/court", "token": token, "rows": rows, "titles": titles}
    return report.render_claims(claims.all_claims(), _graph(), "lab/court.html", **context)


async def _own(lab: Lab, id: str) -> Any:
    from markupsafe import Markup

    def latest(store: Any) -> Any:
        try:
            record = store.get_claim(id)
            return report.claim_view(record, {figure.digest: figure for figure in store.figures_of([record])})
        except StoreError:
            return None

    view = await lab.reading.call(latest)
    return Markup(await asyncio.to_thread(report.render_room, "lab/own_claim.html", view=view))
