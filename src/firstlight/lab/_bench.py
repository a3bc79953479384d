"""Room 6, Bench: RFM against its rivals on a table of the user, and saved probes opened layer by layer."""

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from firstlight import report
from firstlight._suggest import did_you_mean
from firstlight.lab._errors import LabError
from firstlight.lab._folder import LARGEST_FILE, File, Folder
from firstlight.lab._form import FormError
from firstlight.lab._pages import page
from firstlight.lab._state import Lab, body_of, lab_of
from firstlight.records import STAIRCASE, FitRecord, ProbeRecord, StoreError, sha256

TASKS = {"auto": "decide from the target", "classification": "classification", "regression": "regression"}
_DEFAULTS = {"file": "", "target": "", "task": "auto", "folds": "5", "seed": "0", "fit": "", "probe": "", "job": ""}
_LISTED = 12
_SETTING = ("target", "task", "folds", "seed")


async def room(request: Request) -> Response:
    """Answer with the page; its address holds the whole setting and what is shown."""
    lab, given = lab_of(request), request.query_params
    form = _DEFAULTS | {name: str(given[name])[:400] for name in _DEFAULTS if name in given}
    folder = lab.folder.path.name or str(lab.folder.path) if lab.folder else ""
    text = page("lab/bench.html", "/bench", lab.token, form=form, tasks=TASKS, folder=folder, largest=LARGEST_FILE)
    return HTMLResponse(text)


async def files(request: Request) -> Response:
    """Answer with the files of the folder, each under an opaque id."""
    folder = lab_of(request).folder
    listed = await asyncio.to_thread(folder.files) if folder else []
    rows = [{"id": file.id, "name": file.name, "kind": file.kind, "size": file.size} for file in listed]
    return JSONResponse({"has_folder": folder is not None, "files": rows, "largest": LARGEST_FILE})


async def columns(request: Request) -> Response:
    """Answer with the columns of a file, or with the reason why it cannot be read."""
    lab = lab_of(request)
    file = await _find(lab, request.query_params.get("file", ""), "table")
    answer = await _columns(lab, file)
    return JSONResponse(answer, 422 if "problems" in answer else 200)


async def start(request: Request) -> Response:
    """Queue the comparison on a table."""
    lab, body = lab_of(request), await body_of(request)
    file = await _find(lab, str(body.get("file", "")), "table")
    answer = await _columns(lab, file)
    if "problems" in answer:
        raise FormError(answer["problems"])
    payload = _checked(body, answer["columns"], answer["rows"])
    source = {"path": str(file.path), "root": str(_folder(lab).path), "name": file.name}
    id = f"fit:{sha256({**payload, 'name': file.name, 'size': file.size, 'stamp': str(file.stamp)})}"
    title = f"{file.name}: {payload['target']}"
    return JSONResponse(await lab.client.submit(id, "fit", title, {**payload, **source}))


async def open_probe(request: Request) -> Response:
    """Queue the reading of a probe file, whose record goes to the store."""
    lab, body = lab_of(request), await body_of(request)
    file = await _find(lab, str(body.get("file", "")), "probe")
    payload = {"path": str(file.path), "root": str(_folder(lab).path), "name": file.name}
    id = f"probe:{sha256({'name': file.name, 'size': file.size, 'stamp': str(file.stamp)})}"
    return JSONResponse(await lab.client.submit(id, "probe", f"probe {file.name}", payload))


async def records(request: Request) -> Response:
    """Answer with the newest fits and probes of the store, for the lists on the page."""
    fits, probes = await lab_of(request).reading.call(lambda store: (store.fits(), store.probes()))
    tables = [record for record in fits if record.estimator != STAIRCASE and record.figures]
    shown = {record.id: _row(record.id, report.fit_view([record]).title, record.message) for record in tables}
    probed = {record.id: _row(record.id, record.name or "Feature probe", _layers(record)) for record in probes}
    newest = slice(None, -_LISTED - 1, -1)
    return JSONResponse({"fits": list(shown.values())[newest], "probes": list(probed.values())[newest]})


async def fit(request: Request) -> Response:
    """Answer with the comparison of a record as a part of the page."""
    group = await _group(request)
    return HTMLResponse(await asyncio.to_thread(report.render_room, "lab/fit.html", fit=report.fit_view(group)))


async def export_fit(request: Request) -> Response:
    """Answer with the comparison as one self-contained page, to be saved."""
    group = await _group(request)
    title = f"{group[0].message.partition(':')[0]}: {group[0].params.get('target', '')}"
    return await _page(group, title, f"firstlight-fit-{request.path_params['id'][:12]}.html")


async def probe(request: Request) -> Response:
    """Answer with a probe, layer by layer, as a part of the page."""
    record = await _probe(request)
    context = {"probe": report.probe_view(record), "courses": _courses(record)}
    return HTMLResponse(await asyncio.to_thread(report.render_room, "lab/probe.html", **context))


async def export_probe(request: Request) -> Response:
    """Answer with the probe as one self-contained page, to be saved."""
    record = await _probe(request)
    return await _page([record], record.name or "Feature probe", f"firstlight-probe-{record.id[:12]}.html")


PAGES = {
    "/bench": room,
    "/api/bench/files": files,
    "/api/bench/columns": columns,
    "/api/bench/records": records,
    "/api/bench/fits/{id}": fit,
    "/api/bench/fits/{id}/export": export_fit,
    "/api/bench/probes/{id}": probe,
    "/api/bench/probes/{id}/export": export_probe,
}
CHANGES = {"/api/bench": start, "/api/bench/probe": open_probe}


def _folder(lab: Lab) -> Folder:
    if lab.folder is None:
        raise FormError({"file": "the lab was started without a folder; start it with: firstlight lab --folder DIR"})
    return lab.folder


async def _find(lab: Lab, id: str, kind: str) -> File:
    folder = _folder(lab)
    if not id:
        raise FormError({"file": "choose a file"})
    return await asyncio.to_thread(folder.find, id, kind)


async def _columns(lab: Lab, file: File) -> dict[str, Any]:
    return await lab.client.ask("columns", {"path": str(file.path), "root": str(_folder(lab).path)})


def _checked(body: Mapping[str, Any], known: list[dict[str, Any]], rows: int) -> dict[str, Any]:
    """Return target, task, folds and seed of a request; a `FormError` says which of them is wrong."""
    problems: dict[str, str] = {}
    target, task = str(body.get("target", "")), str(body.get("task", "auto"))
    names = [column["name"] for column in known]
    chosen = next((column for column in known if column["name"] == target), None)
    if chosen is None:
        hint = did_you_mean(target, names)
        problems["target"] = f"no column {target[:60]!r}; {hint}choose one of the menu" if target else "choose a column"
    elif chosen["reason"]:
        problems["target"] = f"{target} cannot be a target: {chosen['reason']}"
    if task not in TASKS:
        problems["task"] = f"choose one of {', '.join(TASKS)}"
    elif task == "regression" and chosen is not None and chosen["kind"] != "numbers":
        problems["task"] = f"regression needs a target of numbers; {target} holds {chosen['kind']}"
    whole = {}
    for name, least, most in (("folds", 2, min(10, rows)), ("seed", 0, 2**32 - 1)):
        text = str(body.get(name, "")).strip()
        if not text.isdecimal() or len(text) > 12 or not least <= int(text) <= most:
            problems[name] = f"must be a whole number from {least} to {most}; got {text[:40]!r}"
        else:
            whole[name] = int(text)
    if problems:
        raise FormError(problems)
    return {"target": target, "task": task, **whole}


async def _group(request: Request) -> list[FitRecord]:
    """Return the fits to the same table and target as the record of a request."""
    id = request.path_params["id"]

    def related(store: Any) -> list[FitRecord]:
        chosen = store.get_fit(id)
        if chosen.estimator == STAIRCASE:
            raise StoreError(f"{id[:12]} is a staircase, not a fit to a table.")
        latest = {record.id: record for record in store.fits() if record.data == chosen.data}
        wanted = [chosen.params.get(name) for name in _SETTING]
        return [record for record in latest.values() if [record.params.get(name) for name in _SETTING] == wanted]

    return await lab_of(request).reading.call(related)


async def _probe(request: Request) -> ProbeRecord:
    id = request.path_params["id"]
    return await lab_of(request).reading.call(lambda store: store.get_probe(id))


async def _page(shown: Any, title: str, name: str) -> Response:
    if not shown:
        raise LabError("there is nothing to export")
    text = await asyncio.to_thread(lambda: report.render(shown, title=title))
    return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


def _row(id: str, title: str, words: str) -> dict[str, str]:
    return {"id": id, "title": title, "words": words}


def _layers(record: ProbeRecord) -> str:
    count = len(record.layers)
    return f"{count} layer{'s' * (count != 1)}, {record.samples} samples"


def _courses(record: ProbeRecord) -> dict[str, list[tuple[str, ...]]]:
    """Return layer → a row (step, verdict, FACT, √AGOP, effective rank, moved) for each checkpoint."""
    courses = {}
    for course in record.courses:
        columns = [course.alignments.get("FACT", ()), course.alignments.get("√AGOP", ()),
                   course.effective_rank, course.moved]  # fmt: skip
        courses[course.name] = [
            (str(checkpoint.step), state, *(_short(column, place) for column in columns))
            for place, (checkpoint, state) in enumerate(zip(record.checkpoints, course.states, strict=True))
        ]
    return courses


def _short(column: Any, place: int) -> str:
    value = column[place] if place < len(column) else None
    return f"{value:.3g}".replace("-", "−") if isinstance(value, int | float) and math.isfinite(value) else "–"
