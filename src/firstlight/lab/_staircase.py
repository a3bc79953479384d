"""Room 3, Staircase: AGF's prediction of a loss that falls in steps, and gradient flow over it."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from firstlight import report
from firstlight.lab._cases import CONTROLS, KINDS, default_case
from firstlight.lab._errors import LabError
from firstlight.lab._form import FormError
from firstlight.lab._frames import without_gaps
from firstlight.lab._pages import page
from firstlight.lab._pasted import keep_pasted, pasted_text
from firstlight.lab._state import Lab, body_of, lab_of
from firstlight.records import STAIRCASE, FitRecord, StoreError
from firstlight.records.figure import unpack_series

PATIENCE = 60.0
"""Seconds that a started flow waits for its prediction."""

_NAMES = ("case", *(control.name for control in CONTROLS))
_LISTED = 12


async def room(request: Request) -> Response:
    """Answer with the page; its address holds the whole setting."""
    lab, given = lab_of(request), _form(request.query_params)
    case = given.get("case", "")
    form = default_case(case if case in KINDS else "diagonal") | given
    text = pasted_text(lab.client.places.pasted, form.get("data", "")) or ""
    context = {"kinds": KINDS, "controls": CONTROLS, "form": form, "pasted": text}
    return HTMLResponse(page("lab/staircase.html", "/staircase", lab.token, **context))


async def predict(request: Request) -> Response:
    """Answer with the predicted staircase of a form, with the problems of its controls, or that it is computed."""
    lab = lab_of(request)
    answer = await _predict(lab, _form(request.query_params))
    if "id" in answer:
        answer["stored"] = await _stored(lab, answer["id"])
        answer["job"] = lab.client.jobs.get(_job(answer["id"]))
    return JSONResponse(without_gaps(answer), 422 if "problems" in answer else 200)


async def start(request: Request) -> Response:
    """Queue the gradient flow of a form."""
    lab, body = lab_of(request), await body_of(request)
    if not isinstance(body.get("form"), dict):
        raise LabError("the body needs a form, an object of controls")
    form = _form(body["form"])
    answer = await _predict(lab, form)
    end = asyncio.get_running_loop().time() + PATIENCE
    while "computing" in answer:
        if asyncio.get_running_loop().time() > end:
            raise LabError("the prediction is still computed; run the flow when it is drawn")
        answer = await _predict(lab, form)
    if "problems" in answer:
        raise FormError(answer["problems"])
    if await _stored(lab, answer["id"]):
        return JSONResponse({"id": _job(answer["id"]), "state": "finished"})
    payload = {"form": answer["form"], "data": str(lab.client.places.pasted)}
    return JSONResponse(await lab.client.submit(_job(answer["id"]), "staircase", answer["title"], payload))


async def paste(request: Request) -> Response:
    """Check data that were pasted, and store them under their digest."""
    body = await body_of(request)
    return JSONResponse(keep_pasted(lab_of(request).client.places.pasted, body.get("text")))


async def result(request: Request) -> Response:
    """Answer with the curve of a recorded flow, and its table as HTML for the page."""
    record = await _record(request)
    html = report.render_room("lab/staircase_result.html", view=report.staircase_view(record))
    return JSONResponse(without_gaps({"id": record.id, "html": html, "curve": _curve(record)}))


async def export(request: Request) -> Response:
    """Answer with the staircase as one self-contained page, to be saved."""
    record = await _record(request)
    text = await asyncio.to_thread(lambda: report.render([record], title=str(record.params.get("title", "Staircase"))))
    name = f"firstlight-staircase-{record.id[:12]}.html"
    return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


async def earlier(request: Request) -> Response:
    """Answer with the newest staircases of the store, for the list on the page."""
    records = await lab_of(request).reading.call(lambda store: store.fits())
    latest = {record.id: record for record in records if record.estimator == STAIRCASE}
    rows = [
        {"id": record.id, "title": str(record.params.get("title", "")), "address": _address(record),
         "story": record.message}
        for record in list(latest.values())[: -_LISTED - 1 : -1]
    ]  # fmt: skip
    return JSONResponse({"staircases": rows})


PAGES = {
    "/staircase": room,
    "/api/staircase": predict,
    "/api/staircases": earlier,
    "/api/staircase/{id}/result": result,
    "/api/staircase/{id}/export": export,
}
CHANGES = {"/api/staircase": start, "/api/staircase/data": paste}


def _form(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(values[name])[:400] for name in _NAMES if name in values}


def _job(id: str) -> str:
    return f"staircase:{id}"


async def _predict(lab: Lab, form: dict[str, str]) -> dict[str, Any]:
    return await lab.client.ask("staircase", {"form": form, "data": str(lab.client.places.pasted)})


async def _stored(lab: Lab, id: str) -> bool:
    try:
        await lab.reading.call(lambda store: store.get_fit(id))
    except StoreError:
        return False
    return True


async def _record(request: Request) -> FitRecord:
    id = request.path_params["id"]
    record = await lab_of(request).reading.call(lambda store: store.get_fit(id))
    if record.estimator != STAIRCASE:
        raise StoreError(f"{id[:12]} is a fit to a table, not a staircase.")
    return record


def _address(record: FitRecord) -> str:
    return f"/staircase?{urlencode({name: record.params[name] for name in _NAMES if name in record.params})}"


def _curve(record: FitRecord) -> dict[str, Any]:
    drawn = record.figures[0]
    (measured,) = unpack_series(drawn)
    times, losses = [float(t) for t in measured.x], [float(value) for value in measured.y]
    levels, jumps = drawn.arrays["levels"], drawn.arrays["jumps"]
    predicted = levels[jumps.searchsorted(times, side="right")]
    return {"time": times, "loss": losses, "predicted": predicted.tolist()}
