"""A lens on runs: `lenses = ["parseval"]` in a spec adds its sentence to the run's record."""

import math
from collections.abc import Mapping
from typing import Any

from firstlight import flow
from firstlight.records import RunRecord


def halvings(record: RunRecord) -> Mapping[str, Any]:
    """Return how often the training loss halved between the first and the last recorded step."""
    if not len(record.table) or "train_loss" not in record.table:
        return {"story": "No training loss was recorded."}
    loss = record.table["train_loss"]
    count = math.log2(float(loss[0]) / float(loss[-1])) if loss[-1] > 0 else math.inf
    return {"halvings": count, "story": f"The training loss halved {count:.1f} times."}


LENSES = (flow.Lens(name="parseval", title="Halvings of the training loss", summarise=halvings),)
