"""The verdict on a network: near a global optimizer, far from it, or not solved at all."""

import numpy as np
import pytest

from firstlight.records import RunRecord, Table, spec_from_mapping
from firstlight.theories.cogo import LENSES
from firstlight.theories.cogo import _lens as lens

LIMIT = 6 / 14


def judged(total=LIMIT, orders=(4, 4, 6), accuracy=1.0, *, before=None, group="Z7", **changes):
    """The verdict on a made-up run that ends with this sum of potentials, orders and held-out accuracy.

    `before` is the sum one row earlier, by default the last one: the potentials have settled.
    """
    pairs = len(orders)
    columns = {
        "test_accuracy": [0.1, accuracy, accuracy],
        "cogo.sum_diagonal": [0.0, total if before is None else before, total],
        "cogo.off_diagonal": [0.1, 0.0, 0.0],
        "cogo.a0kk": np.zeros((3, pairs)),
        "cogo.orders": np.array([np.zeros(pairs), orders, orders], np.float32),
    }
    mapping = {"task": {"group": group}, "lenses": ["cogo"], "optimizer": {"weight_decay": 1e-4}, **changes}
    record = RunRecord(spec=spec_from_mapping(mapping), status="finished", table=Table([0, 50, 100], columns))
    return lens.verdict(record), record


def test_a_network_near_an_optimizer_agrees():
    verdict, record = judged(total=0.97 * LIMIT)
    assert verdict.agrees == "yes"
    assert verdict.predicted.startswith("sum of matching potentials 0.429")
    assert verdict.measured == "sum 0.416; 3 of 3 frequencies with 4 or 6 hidden units"
    figures = lens.figure_data(record)
    assert verdict.look_at == figures[0].title
    assert LENSES[0].verdict is lens.verdict


@pytest.mark.parametrize("false", [{"total": 0.5 * LIMIT}, {"total": 1.2 * LIMIT}, {"orders": (9, 12, 6)}])
def test_a_solved_task_with_other_potentials_or_blocks_does_not_agree(false):
    assert judged(**false)[0].agrees == "no"


def test_without_weight_decay_the_number_of_hidden_units_is_not_predicted():
    verdict, _ = judged(orders=(9, 12, 20), optimizer={})
    assert verdict.agrees == "yes"
    assert "hidden units" not in verdict.predicted


def test_frequencies_that_are_their_own_negative_have_two_hidden_units():
    """Z4 has the pair ±1 and the real frequency 2; its sum at zero loss is 3/8."""
    verdict, _ = judged(3 / 8, (4, 2), group="Z4")
    assert verdict.agrees == "yes"
    assert verdict.measured.endswith(
        "2 of 2 frequencies with 4 or 6 hidden units, or with 2 if a frequency is its own negative"
    )
    assert judged(3 / 8, (3, 4), group="Z4")[0].agrees == "no"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"accuracy": 0.5}, "does not solve it yet"),
        ({"accuracy": np.nan}, "does not solve it yet"),
        ({"loss": {"kind": "cross_entropy"}}, "squared error"),
        ({"total": np.nan}, "diverged"),
        ({"total": 0.6 * LIMIT, "before": 0.55 * LIMIT}, "still training"),
    ],
)
def test_a_network_that_is_no_optimizer_is_not_judged(changes, reason):
    verdict, _ = judged(**changes)
    assert verdict.agrees == "does not apply"
    assert reason in verdict.sentence


def test_an_unfinished_network_is_shown_beside_the_sum_of_a_finished_one():
    verdict, _ = judged(total=0.6 * LIMIT, before=0.55 * LIMIT)
    assert verdict.predicted == f"sum of matching potentials {LIMIT:.3f} at an optimum"
    assert verdict.measured == f"{0.6 * LIMIT:.3f}"


def test_a_run_without_the_columns_of_the_lens_has_no_verdict():
    record = RunRecord(spec=spec_from_mapping({"task": {"group": "Z7"}}), status="finished", table=Table([0], {}))
    assert lens.verdict(record) is None
    assert lens.figure_data(record) == ()
