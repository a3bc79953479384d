"""Room 4, Phase atlas: the share of seeds that generalise over two axes, theory's line, and sweeps that fill it in."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from firstlight import report
from firstlight.lab._errors import LabError
from firstlight.lab._form import FormError
from firstlight.lab._pages import page
from firstlight.lab._state import Lab, body_of, lab_of
from firstlight.lab._sweep_form import FORM, GROUPS, default_sweep
from firstlight.records import PhaseAxis, PhaseRecord, RunRecord, StoreError, figure
from firstlight.records.figure import FigureData, unpack_series

_MOST_RUNS = 60
"""Runs of a cell that the page lists."""

_MOST_CURVES = 7
"""Curves in the figure of a cell."""


async def room(request: Request) -> Response:
    """Answer with the page; its address holds the map, its axes and the form of the next sweep."""
    form = default_sweep() | _form(request.query_params)
    text = page("lab/atlas.html", "/atlas", lab_of(request).token, fields=FORM, form=form, groups=GROUPS)
    return HTMLResponse(text)


async def diagram(request: Request) -> Response:
    """Answer with the sweeps of the store, and the cells of one of them."""
    answer = await _atlas(request)
    if answer["record"] is None:
        return JSONResponse({"families": [], "record": None})
    record = PhaseRecord.from_json(answer["record"])
    table = report.render_room("lab/phase_table.html", diagram=report.phase_view(record))
    shown = {name: answer[name] for name in ("families", "map", "x", "y", "fixed", "waiting", "axes", "others")}
    return JSONResponse(shown | {"record": _plain(record), "table": table})


async def export(request: Request) -> Response:
    """Answer with the map as one self-contained page, to be saved."""
    answer = await _atlas(request)
    if answer["record"] is None:
        raise LabError("there is no sweep to export yet")
    text = report.render(PhaseRecord.from_json(answer["record"]), title="Phase diagram", papers={})
    name = f"firstlight-atlas-{answer['map']}.html"
    return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


async def cell(request: Request) -> Response:
    """Answer with the runs of a cell, given by their ids: their curves and a table, as a part of the page."""
    ids = request.query_params.get("ids", "").split(",")[:_MOST_RUNS]
    if not all(id.isalnum() and len(id) == 64 for id in ids):
        return JSONResponse({"error": "ids are the ids of runs, separated by commas."}, 400)

    def read(store: Any) -> list[RunRecord]:
        return [store.get_run(id) for id in ids if store.run_status(id)]

    records = await lab_of(request).reading.call(read)
    if not records:
        raise StoreError("these runs are not in the store any more")
    views = [{"record": record, "setting": _setting(record)} for record in records]
    return HTMLResponse(report.render_room("lab/cell.html", runs=views, figure=_curves(records)))


async def estimate(request: Request) -> Response:
    """Answer with the cost of the sweep of a form, or with the problems of its controls."""
    answer = await _cost(lab_of(request), _form(request.query_params))
    if "id" in answer:
        answer["job"] = lab_of(request).client.jobs.get(answer["id"])
        del answer["sweep"]
    return JSONResponse(answer, 422 if "problems" in answer else 200)


async def start(request: Request) -> Response:
    """Queue the sweep of a form; an expensive one needs `sure`."""
    lab, body = lab_of(request), await body_of(request)
    if not isinstance(body.get("form"), dict):
        raise LabError("the body needs a form, an object of controls")
    answer = await _cost(lab, _form(body["form"]))
    if "problems" in answer:
        raise FormError(answer["problems"])
    if answer["asks"] and body.get("sure") is not True:
        return JSONResponse({"asks": True, "error": "The sweep is expensive: confirm that it should start."}, 409)
    job = await lab.client.submit(answer["id"], "sweep", answer["title"], {"sweep": answer["sweep"]})
    return JSONResponse(job | {"family": answer["family"]})


PAGES = {
    "/atlas": room,
    "/api/atlas": diagram,
    "/api/atlas/cell": cell,
    "/api/atlas/export": export,
    "/api/atlas/estimate": estimate,
}
CHANGES = {"/api/atlas": start}


def _form(values: Any) -> dict[str, str]:
    return {name: str(values[name])[:1000] for name in default_sweep() if name in values}


async def _atlas(request: Request) -> dict[str, Any]:
    lab, given = lab_of(request), request.query_params
    planned = [job["notes"]["sweep"] for job in lab.client.jobs.values() if job["kind"] == "sweep" and job["notes"]]
    question: dict[str, Any] = {name: given.get(name, "")[:64] for name in ("map", "x", "y")}
    question["fixed"] = {name[4:]: value[:64] for name, value in given.items() if name.startswith("fix_") and value}
    return await lab.client.ask("atlas", question | {"store": str(lab.client.places.store), "planned": planned})


async def _cost(lab: Lab, form: Mapping[str, str]) -> dict[str, Any]:
    places = lab.client.places
    return await lab.client.ask("sweep", {"form": form, "store": str(places.store), "data": str(places.tables)})


def _plain(record: PhaseRecord) -> dict[str, Any]:
    """Return what the page draws; the line of theory is in units of cells."""
    cells = [cell.model_dump() | {"share": cell.share} for cell in record.cells]
    lines = [line_in_cells(curve, record.x, record.y) for curve in unpack_series(record.figures[0], "theory")]
    return {
        "title": record.title,
        "story": record.story,
        "theory": record.theory,
        "averaged": record.averaged,
        "x": {"label": record.x.label, "names": record.x.names},
        "y": {"label": record.y.label, "names": record.y.names},
        "cells": cells,
        "lines": lines,
    }


def line_in_cells(curve: figure.Series, x: PhaseAxis, y: PhaseAxis) -> list[list[float]]:
    """Return the points of a line in units of cells, (0.5, 0.5) being the middle of the first.

    >>> axis = PhaseAxis(field="a", label="a", spacing="log", values=(1, 10), names=("1", "10"))
    >>> line_in_cells(figure.Series("half", np.array([1.0, 10.0]), np.array([10.0, np.sqrt(10)])), axis, axis)
    [[0.5, 1.5], [1.5, 1.0]]
    """
    columns = []
    for values, axis in ((curve.x, x), (curve.y, y)):
        places = np.arange(len(axis.names), dtype=float) if axis.spacing == "named" else np.array(axis.values, float)
        if axis.spacing == "log":
            values, places = np.log(values), np.log(places)
        columns.append(np.interp(values, places, np.arange(len(places))) + 0.5)
    return [[round(float(a), 4), round(float(b), 4)] for a, b in zip(*columns, strict=True) if np.isfinite(a + b)]


def _curves(records: Sequence[RunRecord]) -> FigureData | None:
    """Return the held-out accuracy of the first runs over their epochs."""
    shown = [record for record in records if "test_accuracy" in record.table and len(record.table)][:_MOST_CURVES]
    if not shown:
        return None
    seeds = {record.spec.seed for record in shown}
    series = [
        figure.Series(
            f"seed {record.spec.seed}" if len(seeds) == len(shown) else f"seed {record.spec.seed}, {record.id[:6]}",
            record.table.step,
            record.table["test_accuracy"],
        )
        for record in shown
    ]
    label = "accuracy on held-out pairs"
    return figure.curves(series, x=shown[0].spec.clock, y=label, title=label.capitalize())


def _setting(record: RunRecord) -> str:
    """Return the address of Grok live with the setting of a run, or '' for a run that the page cannot express."""
    from urllib.parse import urlencode

    spec = record.spec
    if (
        spec.task.kind != "group"
        or spec.task.table
        or spec.model.kind != "two_layer"
        or spec.task.split.fraction is None
    ):
        return ""
    values = {
        "group": spec.task.group,
        "fraction": f"{spec.task.split.fraction:g}",
        "width": spec.model.width,
        "activation": spec.model.activation,
        "optimizer": spec.optimizer.name,
        "rate": f"{spec.optimizer.learning_rate:g}",
        "decay": f"{spec.optimizer.weight_decay:g}",
        "steps": spec.steps,
        "seed": spec.seed,
    }
    return f"/grok?{urlencode(values)}"
