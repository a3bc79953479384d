"""Room 2, Feature theatre: what the hidden units of a run became, over training time."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from firstlight import report
from firstlight.lab._pages import page
from firstlight.lab._state import lab_of
from firstlight.lab._static import content
from firstlight.records import RunRecord, Store, run_title

LISTED = 60
"""Runs in the menu, newest first."""


async def room(request: Request) -> Response:
    """Answer with the page; its address holds run, step, units and irrep."""
    return HTMLResponse(page("lab/theatre.html", "/theatre", lab_of(request).token))


async def listing(request: Request) -> Response:
    """Answer with the runs that have weights to show, newest first, and the number of those that have none."""

    def newest(store: Store) -> list[RunRecord]:
        return store.recent_runs(LISTED)

    records = await lab_of(request).reading.call(newest)
    shown = [_row(record) for record in records if "final" in record.weights]
    return JSONResponse({"runs": shown, "without": len(records) - len(shown)})


async def features(request: Request) -> Response:
    """Answer with the features of a run over time."""
    return JSONResponse(await _features(request))


async def export(request: Request) -> Response:
    """Answer with the theatre of a run as one self-contained page that plays without the lab, to be saved."""
    shown = await _features(request)
    view = {name: request.query_params[name][:200] for name in ("at", "units", "irrep") if name in request.query_params}
    # In a script element only "<" could end the data.
    data = json.dumps({"features": shown, "view": view}).replace("<", "\\u003c")
    script = content("stage.js").decode("utf-8")
    text = report.render_room("lab/theatre_file.html", title=shown["title"], data=data, stage=script)
    name = f"firstlight-features-{shown['id'][:12]}.html"
    return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


CHANGES: dict[str, Any] = {}
PAGES = {
    "/theatre": room,
    "/api/theatre": listing,
    "/api/theatre/{id}": features,
    "/api/theatre/{id}/export": export,
}


async def _features(request: Request) -> dict[str, Any]:
    lab, id = lab_of(request), request.path_params["id"]
    if not id.isalnum() or len(id) > 64 or await lab.reading.status(id) is None:
        raise HTTPException(404, "There is no run with this id in the store.")
    places = lab.client.places
    answer = await lab.client.ask("theatre", {"id": id, "store": str(places.store), "data": str(places.tables)})
    if "problem" in answer:
        raise HTTPException(409, answer["problem"])
    return answer


def _row(record: RunRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "title": f"{run_title(record.spec)}, seed {record.spec.seed}, {record.steps} {record.spec.clock}s",
        "snapshots": sum(name != "final" for name in record.weights),
        "story": str(record.summary.get("story", "")),
    }
