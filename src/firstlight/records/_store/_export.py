"""Export a run to ordinary files."""

import csv
import io
from pathlib import Path

from firstlight._files import write_atomically
from firstlight.records._run import RunRecord
from firstlight.records._specfile import dump_toml
from firstlight.records._store._blobs import SAFETENSORS, Blobs, pack


def export_run(record: RunRecord, blobs: Blobs, directory: Path) -> Path:
    """Write `record.json`, `spec.toml`, `table.csv`, arrays and weights into a folder, and return the folder."""
    contents = {
        "record.json": record.to_json().encode(),
        "spec.toml": dump_toml(record.spec).encode(),
        "table.csv": _csv(record).encode(),
    }
    scalars = record.table.scalars()
    arrays = {name: column for name, column in record.table.arrays.items() if name not in scalars}
    if len(arrays) > 1:
        contents[f"table{SAFETENSORS}"] = pack(arrays)
    for name, digest in record.weights.items():
        contents[f"weights/{name}{SAFETENSORS}"] = blobs.read(digest + SAFETENSORS)
    stale = _exported(directory) - contents.keys()
    for name, content in contents.items():
        write_atomically(directory / name, content)
    for name in stale:
        (directory / name).unlink(missing_ok=True)
    return directory


def _exported(directory: Path) -> set[str]:
    """Return the files of arrays that an earlier export wrote into the folder."""
    try:
        earlier = RunRecord.from_json((directory / "record.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {f"table{SAFETENSORS}", *(f"weights/{name}{SAFETENSORS}" for name in earlier.weights)}


def _csv(record: RunRecord) -> str:
    scalars = record.table.scalars()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", *scalars])
    columns = (column.tolist() for column in (record.table.arrays["step"], *scalars.values()))
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
