"""Waves and circles are read off the weights; checked on weights that are waves."""

import numpy as np
import pytest

from firstlight import runs
from firstlight.records import RunRecord, spec_from_mapping
from firstlight.records.figure import unpack_panels

M, K, FREQUENCY = 11, 12, 3


def outcome(group: str = f"Z{M}", **spec) -> runs.RunOutcome:
    rng, angle = np.random.default_rng(0), 2 * np.pi * np.arange(M) * FREQUENCY / M
    phases = 2 * np.pi * np.arange(K) / K
    wave = np.cos(angle[:, None] + phases)
    weights = {
        "step-0": {"W": rng.normal(size=(2 * M, K))},
        "step-10": {"W": np.concatenate([wave, wave])},
        "final": {"W": 2 * np.concatenate([wave, wave])},
    }
    spec = spec_from_mapping({"task": {"group": group}, "model": {"width": K}, "steps": 20, "snapshots": 2, **spec})
    return runs.RunOutcome(RunRecord(spec=spec, status="finished", steps=20), weights)


def test_a_network_of_one_frequency_has_its_wave_and_its_circle() -> None:
    waves, circle = runs.portraits(outcome())
    (panel,) = unpack_panels(waves)
    assert panel.title.endswith(f"100% in irrep ±{FREQUENCY}")
    steps = unpack_panels(circle)
    assert [panel.title for panel in steps] == ["epoch 0", "epoch 10", "epoch 20"]
    radii = [np.linalg.norm(panel.arrays["points"], axis=1) for panel in steps]
    # K waves with evenly spread phases put every element at the distance √(K/2) of a plane.
    np.testing.assert_allclose(radii[2], 2 * np.sqrt(K / 2), rtol=64 * np.finfo(float).eps * K)
    np.testing.assert_allclose(radii[1], np.sqrt(K / 2), rtol=64 * np.finfo(float).eps * K)
    assert np.ptp(radii[0]) > 0.1


def test_colours_follow_the_order_of_the_last_ring() -> None:
    last = unpack_panels(runs.portraits(outcome())[1])[-1]
    points, index = last.arrays["points"], last.arrays["index"].astype(int)
    turns = np.diff(np.unwrap(np.arctan2(points[:, 1], points[:, 0])[np.argsort(index)]))
    np.testing.assert_allclose(turns, 2 * np.pi / M, rtol=1e3 * np.finfo(float).eps * M)


@pytest.mark.parametrize("change", [{"model": {"kind": "deep", "widths": [4, 4]}}, {"task": {"kind": "parity"}}])
def test_other_networks_and_tasks_have_none(change) -> None:
    spec = spec_from_mapping({"steps": 20, **change})
    assert runs.portraits(runs.RunOutcome(RunRecord(spec=spec, status="finished"), {})) == ()


def test_one_network_is_no_history() -> None:
    whole = outcome()
    assert runs.portraits(runs.RunOutcome(whole.record, {"final": whole.weights["final"]})) == ()
