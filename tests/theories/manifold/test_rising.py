"""The norm rises before zero loss, and the verdict says why."""

import numpy as np
import pytest

from firstlight.records import RunRecord, Table, spec_from_mapping
from firstlight.theories import manifold
from firstlight.theories.manifold._rising import rise

DECAY = 2e-4


def record(norm: list[float], loss: list[float], **optimizer) -> RunRecord:
    steps = 10 * np.arange(len(norm))
    columns = {"train_accuracy": [0.1, *[1.0] * (len(norm) - 1)], "train_loss": loss, "manifold.norm": norm}
    columns |= {f"manifold.{name}": np.full(len(norm), np.nan) for name in ("distance", "tangential", "descent")}
    columns["manifold.by_V"] = np.ones(len(norm))
    fields = {"name": "adam", "learning_rate": 1e-3, "weight_decay": DECAY, **optimizer}
    return RunRecord(spec=spec_from_mapping({"optimizer": fields}), status="finished", table=Table(steps, columns))


def test_the_reason_is_the_loss_at_memorisation() -> None:
    run = record([707.0, 533.0, 2731.0], [1.0, 0.94, 0.016])
    risen = rise(run)
    assert risen is not None
    assert (risen.memorised, risen.norms, risen.losses) == (10, (533.0, 2731.0), (0.94, 0.016))
    # One per cent of the decay term (wd/2)·‖θ‖² at the end.
    assert risen.close == pytest.approx(0.01 * DECAY / 2 * 2731.0, rel=1e-12)
    verdict = manifold.LENSES[0].verdict(run)
    assert verdict is not None
    assert "The norm rises here" in verdict.sentence
    assert "at epoch 10, the loss is still 0.94" in verdict.sentence


@pytest.mark.parametrize(
    ("norm", "loss", "optimizer"),
    [
        ([5.0, 10.0, 8.0], [1.0, 0.5, 0.1], {}),
        ([5.0, 8.0, 10.0], [1.0, 0.5, 1e-9], {}),
        ([5.0, 8.0, 10.0], [1.0, 0.5, 0.1], {"weight_decay": 0.0}),
        ([5.0, 8.0, 10.0], [1.0, 0.5, 0.1], {"name": "adamw"}),
    ],
    ids=["falls", "reaches zero loss", "no decay", "another decay"],
)
def test_other_runs_have_no_rise_to_explain(norm, loss, optimizer) -> None:
    assert rise(record(norm, loss, **optimizer)) is None
