"""Room 1, Grok live: a setting, its forecast, the run over the forecast, and the scoreboard."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from firstlight import report
from firstlight.lab._charts import chart, names
from firstlight.lab._errors import LabError
from firstlight.lab._form import FIELDS, GROUPS, FormError, default_form
from firstlight.lab._frames import without_gaps
from firstlight.lab._live import stream
from firstlight.lab._pages import page
from firstlight.lab._state import body_of, lab_of
from firstlight.lab._tables import keep_table
from firstlight.records import RunRecord, TheoryVerdict, run_title

_ACTIONS = ("pause", "resume", "stop", "remove")
_NAMES = (*(field.name for field in FIELDS), "table")


async def room(request: Request) -> Response:
    """Answer with the page; its address holds the whole setting."""
    form = {**default_form(), "table": "", **_form(request.query_params)}
    text = page("lab/grok.html", "/grok", lab_of(request).token, fields=FIELDS, form=form, groups=GROUPS)
    return HTMLResponse(text)


async def setting(request: Request) -> Response:
    """Answer with the spec, the run and the forecast of a form, or with the problems of its controls."""
    lab = lab_of(request)
    answer = await _setting(request, _form(request.query_params))
    if "id" in answer:
        answer["status"] = await lab.reading.status(answer["id"])
        answer["job"] = lab.client.jobs.get(answer["id"])
        del answer["spec"]
    return JSONResponse(without_gaps(answer), 422 if "problems" in answer else 200)


async def start(request: Request) -> Response:
    """Queue the run of a form."""
    lab, body = lab_of(request), await body_of(request)
    if not isinstance(body.get("form"), dict):
        raise LabError("the body needs a form, an object of controls")
    answer = await _setting(request, _form(body["form"]))
    if "problems" in answer:
        raise FormError(answer["problems"])
    if await lab.reading.status(answer["id"]) in ("finished", "diverged"):
        return JSONResponse({"id": answer["id"], "state": "finished"})
    job = await lab.client.submit(answer["id"], "run", answer["title"], {"spec": answer["spec"]})
    return JSONResponse(job)


async def change(request: Request) -> Response:
    """Pause, resume, stop or remove a job."""
    body = await body_of(request)
    if body.get("action") not in _ACTIONS:
        raise LabError(f"an action is one of {', '.join(_ACTIONS)}")
    return JSONResponse(await lab_of(request).client.control(str(body.get("id")), body["action"]))


async def table(request: Request) -> Response:
    """Check a Cayley table that was pasted or uploaded, and store it under its digest."""
    body = await body_of(request)
    return JSONResponse(keep_table(lab_of(request).client.places.tables, body.get("name"), body.get("text")))


async def rows(request: Request) -> Response:
    """Answer with the curves of a run, thinned, and the number of its rows."""
    total, columns = await lab_of(request).curves.of(request.path_params["id"])
    return JSONResponse({"total": total, "columns": columns})


async def result(request: Request) -> Response:
    """Answer with the scoreboard and the story of an ended run, as HTML for the page, and its stages."""
    record = await _read(request)
    html = report.render_room("lab/result.html", run=report.run_view(record), theories=_scoreboard(record))
    return JSONResponse({"html": html, "stages": _stages(record), "status": record.status, "rows": len(record.table)})


async def export(request: Request) -> Response:
    """Answer with the run as one self-contained page, to be saved."""
    record = await _read(request)
    text = report.render([record], title=f"{run_title(record.spec)}, seed {record.spec.seed}")
    name = f"firstlight-{record.id[:12]}.html"
    return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


async def earlier(request: Request) -> Response:
    """Answer with the newest runs of the store, for the list on the page."""
    lab = lab_of(request)

    records = await lab.reading.call(lambda store: store.recent_runs(12))
    return JSONResponse({"runs": [_row(record) for record in records]})


async def charts(request: Request) -> Response:
    """Answer with a chart for BokehJS."""
    name = request.path_params["name"]
    if name not in names():
        return JSONResponse({"error": "There is no such chart."}, 404)
    return JSONResponse(chart(name))


async def events(request: Request) -> Response:
    """Answer with the stream of a tab; a reconnecting browser says after which row to go on."""
    lab, run = lab_of(request), request.query_params.get("run", "")
    last = request.headers.get("last-event-id") or request.query_params.get("from", "0")
    if not last.isdecimal() or len(last) > 12 or not (run == "" or run.isalnum()) or len(run) > 64:
        return JSONResponse({"error": "run is the id of a run, and from the number of a row."}, 400)
    source = stream(lab.client, lab.reading, lab.news, run, int(last))
    return StreamingResponse(source, media_type="text/event-stream", headers={"cache-control": "no-store"})


PAGES = {
    "/grok": room,
    "/api/setting": setting,
    "/api/runs": earlier,
    "/api/runs/{id}/rows": rows,
    "/api/runs/{id}/result": result,
    "/api/runs/{id}/export": export,
    "/api/charts/{name}": charts,
    "/events": events,
}
CHANGES = {"/api/runs": start, "/api/jobs": change, "/api/tables": table}


def _form(values: Any) -> dict[str, str]:
    return {name: str(values[name])[:200] for name in _NAMES if name in values}


async def _setting(request: Request, form: dict[str, str]) -> dict[str, Any]:
    client = lab_of(request).client
    return await client.ask("setting", {"form": form, "data": str(client.places.tables)})


async def _read(request: Request) -> RunRecord:
    """Return the run that a request names, with a verdict for each of the five theories."""
    lab = lab_of(request)
    record = await lab.reading.run(request.path_params["id"])
    if report.THEORIES.keys() <= {verdict.theory for verdict in record.verdicts}:
        return record
    given = {"spec": json.loads(record.spec.model_dump_json()), "data": str(lab.client.places.tables)}
    try:
        reasons = await lab.client.ask("reasons", given)
    except LabError:
        reasons = {}
    return with_all_verdicts(record, reasons)


def with_all_verdicts(record: RunRecord, reasons: Mapping[str, str]) -> RunRecord:
    """Return a run with a verdict for each of the five theories; one that does not describe the run says why."""
    known = {verdict.theory for verdict in record.verdicts}
    missing = []
    for key in report.THEORIES:
        if key in known:
            continue
        if reason := reasons.get(key, ""):
            sentence = f"The theory does not describe this run: {reason.rstrip('.')}."
        elif key in record.spec.lenses:
            sentence = "The run recorded nothing that the theory could judge."
        else:
            sentence = "The theory was not asked: its lens is not among those of the run."
        missing.append(TheoryVerdict(theory=key, agrees="does not apply", sentence=sentence))
    return record.model_copy(update={"verdicts": (*record.verdicts, *missing)})


def _scoreboard(record: RunRecord) -> list[dict[str, Any]]:
    """Return a row for each of the five theories."""
    verdicts = {verdict.theory: verdict for verdict in record.verdicts}
    return [
        {"name": name, "subject": subject, "silent": silent, **dict(verdicts[key])}
        for key, (name, subject, silent) in report.THEORIES.items()
    ]


def _stages(record: RunRecord) -> list[list[Any]]:
    part = record.summary.get("li2")
    bounds = part if isinstance(part, dict) else {}
    ends = [(name, bounds.get(f"{name}_until")) for name in ("lazy", "independent", "interactive", "stalled")]
    stages, start = [], 0
    for name, end in ends:
        if isinstance(end, int | float):
            stages.append([name, start, end])
            start = end
    return stages


def _row(record: RunRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "title": f"{run_title(record.spec)}, seed {record.spec.seed}",
        "status": record.status,
        "story": str(record.summary.get("story", "")),
    }
