"""Claims, fits, probes and figures in the database: JSON with a digest."""

import sqlite3
from typing import Any, TypeVar

from firstlight.records._base import Record
from firstlight.records._canonical import canonical_json
from firstlight.records._claim import ClaimRecord
from firstlight.records._fit import FitRecord
from firstlight.records._parsing import parse_json
from firstlight.records._probe import ProbeRecord
from firstlight.records._store._blobs import Blobs, pack, unpack
from firstlight.records._store._errors import Damage, require_types
from firstlight.records.figure import FigureData

R = TypeVar("R", bound=Record)


def document(kind: type[R], text: Any, digest: Any) -> R:
    """Return the record that was written as `text`, checked against its digest."""
    require_types(kind.__name__, (text, digest), str, str)
    try:
        record = kind.from_json(text)
    except ValueError as error:
        raise Damage(f"{kind.__name__} {digest[:12]} cannot be read ({str(error).splitlines()[0]})") from None
    if record.digest != digest:
        raise Damage(f"{kind.__name__} {digest[:12]} does not match its digest")
    return record


def figure(blobs: Blobs, digest: Any, header: Any, blob: Any) -> FigureData:
    """Return the figure that was written as a header and arrays, checked against its digest."""
    require_types("figures", (digest, header, blob), str, str, str)
    content = blobs.read(blob)
    try:
        made = FigureData.from_parts(parse_json(header), unpack(content))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Damage(f"figure {digest[:12]} cannot be read ({str(error).splitlines()[0]})") from None
    if made.digest != digest:
        raise Damage(f"figure {digest[:12]} does not match its digest")
    return made


def insert_claim(connection: sqlite3.Connection, record: ClaimRecord) -> None:
    """Write a claim, once."""
    row = (record.id, record.scale, record.to_json(), record.digest)
    connection.execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?)", row)


def insert_fit(connection: sqlite3.Connection, record: FitRecord) -> None:
    """Write a fit, once."""
    connection.execute("INSERT OR IGNORE INTO fits VALUES (?, ?, ?)", (record.id, record.to_json(), record.digest))


def insert_probe(connection: sqlite3.Connection, record: ProbeRecord) -> None:
    """Write a probe, once."""
    connection.execute("INSERT OR IGNORE INTO probes VALUES (?, ?, ?)", (record.id, record.to_json(), record.digest))


def insert_figure(connection: sqlite3.Connection, blobs: Blobs, figure: FigureData) -> None:
    """Write a figure, once, after its arrays."""
    blob = blobs.put(pack(figure.arrays))
    row = (figure.digest, canonical_json(figure.header()), blob)
    connection.execute("INSERT OR IGNORE INTO figures VALUES (?, ?, ?)", row)
    connection.execute("INSERT OR IGNORE INTO links VALUES (?, ?)", (f"figure:{figure.digest}", blob))
