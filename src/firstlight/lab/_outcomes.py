"""A run's record as a message: plain values as JSON; table, figures and weights as arrays."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from firstlight.lab._frames import Arrays
from firstlight.records import ClaimRecord, FigureData, FitRecord, ProbeRecord, RunRecord, Table

Weights = Mapping[str, Mapping[str, np.ndarray]]


def pack_run(record: RunRecord, weights: Weights) -> tuple[dict[str, Any], Arrays]:
    """Return the message of a run and its weights; `unpack_run` is the inverse.

    >>> from firstlight.records import RunSpec
    >>> record = RunRecord(spec=RunSpec(), status="finished", table=Table([0], {"loss": [1.0]}))
    >>> unpack_run(*pack_run(record, {"final": {"W": np.eye(2)}}))[0] == record
    True
    """
    values = json.loads(record.model_dump_json(exclude={"table", "figures"}))
    headers, arrays = pack_figures(record.figures)
    arrays |= {f"table/{name}": array for name, array in record.table.arrays.items()}
    arrays |= {f"weights/{name}/{part}": array for name, parts in weights.items() for part, array in parts.items()}
    return {"record": values, "figures": headers}, arrays


def unpack_run(message: Mapping[str, Any], arrays: Arrays) -> tuple[RunRecord, dict[str, Arrays]]:
    """Return record and weights of a message."""
    own = {name.removeprefix("table/"): array for name, array in arrays.items() if name.startswith("table/")}
    table = Table.from_arrays(own) if own else Table()
    figures = unpack_figures(message["figures"], arrays)
    record = RunRecord.model_validate({**message["record"], "table": table, "figures": figures})
    weights: dict[str, Arrays] = {}
    for name, array in arrays.items():
        if name.startswith("weights/"):
            _, snapshot, part = name.split("/", 2)
            weights.setdefault(snapshot, {})[part] = array
    return record, weights


def pack_runs(records: Sequence[RunRecord]) -> tuple[list[dict[str, Any]], Arrays]:
    """Return the message of several runs without weights; `unpack_runs` is the inverse.

    >>> from firstlight.records import RunSpec
    >>> table = Table([0], {"loss": [1.0]})
    >>> records = [RunRecord(spec=RunSpec(seed=seed), status="finished", table=table) for seed in (0, 1)]
    >>> unpack_runs(*pack_runs(records)) == records
    True
    """
    messages, arrays = [], {}
    for number, record in enumerate(records):
        message, own = pack_run(record, {})
        messages.append(message)
        arrays |= {f"{number}:{name}": array for name, array in own.items()}
    return messages, arrays


def unpack_runs(messages: Sequence[Mapping[str, Any]], arrays: Arrays) -> list[RunRecord]:
    """Return the records of several runs."""
    records = []
    for number, message in enumerate(messages):
        prefix = f"{number}:"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        records.append(unpack_run(message, own)[0])
    return records


def pack_claim(record: ClaimRecord, figures: tuple[FigureData, ...]) -> tuple[dict[str, Any], Arrays]:
    """Return the message of a claim's record and its figures."""
    headers, arrays = pack_figures(figures)
    return {"record": json.loads(record.to_json()), "figures": headers}, arrays


def unpack_claim(message: Mapping[str, Any], arrays: Arrays) -> tuple[ClaimRecord, tuple[FigureData, ...]]:
    """Return record and figures of a message."""
    return ClaimRecord.from_json(json.dumps(message["record"])), unpack_figures(message["figures"], arrays)


R = TypeVar("R", FitRecord, ProbeRecord)


def pack_fits(records: Sequence[R]) -> tuple[list[Any], Arrays]:
    """Return the message of fits or probes; `unpack_fits` is the inverse.

    >>> record = FitRecord(estimator="Ridge", data="0" * 64, scores={"mean": 0.5})
    >>> unpack_fits(FitRecord, *pack_fits([record])) == [record]
    True
    """
    messages: list[Any] = []
    arrays: Arrays = {}
    for number, record in enumerate(records):
        headers, own = pack_figures(record.figures)
        values = json.loads(record.model_copy(update={"figures": ()}).to_json())
        messages.append({"record": values, "figures": headers})
        arrays |= {f"{number}/{name}": array for name, array in own.items()}
    return messages, arrays


def unpack_fits(kind: type[R], messages: Sequence[Any], arrays: Arrays) -> list[R]:
    """Return the fits or probes of a message."""
    records = []
    for number, message in enumerate(messages):
        prefix = f"{number}/"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        record = kind.from_json(json.dumps(message["record"]))
        records.append(record.model_copy(update={"figures": unpack_figures(message["figures"], own)}))
    return records


def pack_figures(figures: tuple[FigureData, ...]) -> tuple[list[Any], Arrays]:
    """Return headers and arrays of figures."""
    arrays = {
        f"figures/{number}/{name}": array
        for number, figure in enumerate(figures)
        for name, array in figure.arrays.items()
    }
    return [json.loads(json.dumps(figure.header(), default=list)) for figure in figures], arrays


def unpack_figures(headers: list[Any], arrays: Arrays) -> tuple[FigureData, ...]:
    """Return the figures of a message."""
    return tuple(
        FigureData.from_parts(header, {name: arrays[f"figures/{number}/{name}"] for name in header["arrays"]})
        for number, header in enumerate(headers)
    )
