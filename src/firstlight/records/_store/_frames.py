"""Records as tidy data frames."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from firstlight.records._claim import ClaimRecord
from firstlight.records._run import RunRecord


def runs_frame(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return one row per run: its outcome, then the fields of its spec (`task.group`, …), then its summary."""
    rows = []
    for record in records:
        spec = _flat(record.spec.model_dump(exclude={"name", "steps"}))
        rows.append(
            {
                "id": record.id,
                "name": record.spec.name,
                "status": record.status,
                "steps": record.steps,
                "seconds": record.seconds,
                "created": record.created,
                "message": record.message,
                **spec,
                "spec.steps": record.spec.steps,
                **record.summary,
            }
        )
    frame = pd.DataFrame(rows, columns=None if rows else _HEAD)
    return frame.assign(created=pd.to_datetime(frame["created"], utc=True))


_HEAD = ["id", "name", "status", "steps", "seconds", "created", "message"]


def claims_frame(records: Sequence[ClaimRecord]) -> pd.DataFrame:
    """Return one row per checked claim, with `as_expected`, for scripts and tables of claims."""
    columns = list(ClaimRecord.model_fields.keys() - {"versions", "machine"})
    columns.sort(key=list(ClaimRecord.model_fields).index)
    rows = [{**record.model_dump(include=set(columns)), "as_expected": record.as_expected} for record in records]
    return pd.DataFrame(rows, columns=[*columns, "as_expected"])


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
