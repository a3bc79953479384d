"""Tables and probe files in workers: the desk reads columns, the trainer compares estimators."""

import gzip
import os
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.lab._outcomes import pack_fits
from firstlight.lab._worker import Channel, Control

MOST_ROWS, MOST_COLUMNS = 20_000, 500
"""The largest table that the bench fits; `firstlight rfm fit` has no such limit."""

LARGEST_UNPACKED = 200_000_000
"""Bytes of a compressed table after unpacking."""

_LABELS = 50


def columns(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a table with what they hold and whether they can be a target.

    **Arguments:**

    - `given`: `path`, the file, and `root`, the folder that it must be in.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder).resolve() / "t.csv"
    ...     _ = path.write_text("a,b\\n1,x\\n2,x\\n3,x\\n4,x\\n5,x\\n")
    ...     answer = columns({"path": str(path), "root": str(path.parent)})
    >>> [(column["name"], column["reason"]) for column in answer["columns"]]
    [('a', ''), ('b', 'all values are equal')]
    """
    try:
        frame = read_frame(given)
    except Unreadable as error:
        return {"problems": {"file": str(error)}}
    described = [_described(str(name), frame[name]) for name in frame.columns]
    if not any(column["reason"] == "" for column in described):
        return {"problems": {"file": "no column of this table can be a target: all are empty, constant or dates"}}
    return {"rows": len(frame), "columns": described}


class Unreadable(ValueError):
    """A table cannot be read; the message says why."""


def read_frame(given: Mapping[str, Any]) -> Any:
    """Return the table of a file inside a folder; `Unreadable` says why there is none."""
    from firstlight.rfm import read_table

    path, root = Path(given["path"]), Path(given["root"])
    try:
        # The file may have been replaced by a link since the server looked.
        if not Path(os.path.realpath(path)).is_relative_to(root):
            raise Unreadable(f"{path.name} is not in the folder any more; choose another file")
        _require_unpacked_size(path)
        frame = read_table(path)
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is not in the folder any more; choose another file") from None
    except Unreadable:
        raise
    except Exception as error:  # parsers raise whatever a broken file makes them raise
        words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise Unreadable(f"{path.name} cannot be read as a table: {words}") from None
    rows, width = frame.shape
    if rows > MOST_ROWS or width > MOST_COLUMNS:
        raise Unreadable(
            f"{path.name} has {rows:,} rows and {width:,} columns; the bench fits at most {MOST_ROWS:,} rows and "
            f"{MOST_COLUMNS} columns. Use firstlight rfm fit for larger tables"
        )
    if rows < 4 or width < 2:
        raise Unreadable(f"{path.name} needs at least 4 rows and 2 columns; it has {rows} and {width}")
    return frame


def _require_unpacked_size(path: Path) -> None:
    """Raise `Unreadable` if a compressed file grows too large; a small file can hold gigabytes of zeros."""
    if path.suffix.lower() != ".gz":
        return
    size = 0
    with gzip.open(path) as file:
        while part := file.read(2**20):
            size += len(part)
            if size > LARGEST_UNPACKED:
                raise Unreadable(f"{path.name} has more than {LARGEST_UNPACKED:,} bytes when it is unpacked")


def _described(name: str, column: Any) -> dict[str, Any]:
    known = column.dropna()
    distinct = int(known.astype(str).nunique()) if column.dtype == object else int(known.nunique())
    kind = {"f": "numbers", "i": "numbers", "u": "numbers", "b": "yes or no", "M": "dates", "m": "durations"}.get(
        column.dtype.kind, "text"
    )
    reason = ""
    if len(known) < 4:
        reason = "fewer than 4 values"
    elif distinct < 2:
        reason = "all values are equal"
    elif kind in ("dates", "durations"):
        reason = "it holds dates"
    elif kind == "text" and distinct > max(_LABELS, len(known) // 2):
        reason = "nearly every row has a label of its own"
    missing = int(column.isna().sum())
    return {"name": name, "kind": kind, "distinct": distinct, "missing": missing, "reason": reason}


class _Stopped(Exception):
    pass


def fit_table(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Compare RFM with its rivals on the folds of a table, and send the records."""
    from firstlight.rfm import compare

    payload = message["payload"]
    start = time.monotonic()

    def report(fraction: float, note: str) -> None:
        control.hold()
        if control.stopping.is_set():
            raise _Stopped
        past = time.monotonic() - start
        left = f", about {max(1, round(past * (1 / fraction - 1)))} s left" if fraction > 0.05 else ""
        channel.send({"event": "progress", "done": fraction, "total": 1.0, "message": f"{note}{left}"})

    try:
        channel.send({"event": "progress", "done": 0.0, "total": 1.0, "message": "reading the table"})
        frame = read_frame(payload)
        options = {name: payload[name] for name in ("task", "folds", "seed")}
        comparison = compare(frame, payload["target"], **options, progress=report)
    except _Stopped:
        channel.send(
            {"event": "end", "state": "stopped", "message": "stopped; the fit begins again when it is started"}
        )
        return
    except Exception as error:
        words = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        channel.send({"event": "end", "state": "failed", "message": words})
        traceback.print_exc()
        return
    records = [
        record.model_copy(update={"message": f"{payload['name']}: {record.message}"})
        for record in comparison.records.values()
    ]
    channel.send({"event": "notes", "notes": {"fit": comparison.records["RFM"].id}})
    values, arrays = pack_fits(records)
    channel.send({"event": "end", "state": "finished", "fits": values, "message": ""}, arrays)


def open_probe(message: Mapping[str, Any], channel: Channel, control: Control) -> None:
    """Read a probe that a PyTorch user saved, and send its record for the store."""
    payload = message["payload"]
    path, root = Path(payload["path"]), Path(payload["root"])
    try:
        if not Path(os.path.realpath(path)).is_relative_to(root) or not path.is_file():
            raise ValueError(f"{payload['name']} is not in the folder any more")
        from firstlight.probes import ProbeResult

        record = ProbeResult.load(path).record(name=payload["name"])
    except Exception as error:
        words = f"{payload['name']} is no saved probe ({str(error)[:200]})"
        if isinstance(error, ModuleNotFoundError):
            words = f"{error}; install it with: pip install 'firstlight[torch]'"
        channel.send({"event": "end", "state": "failed", "message": words})
        return
    channel.send({"event": "notes", "notes": {"probe": record.id}})
    values, arrays = pack_fits([record])
    channel.send({"event": "end", "state": "finished", "probes": values, "message": ""}, arrays)
