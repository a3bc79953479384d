"""What hidden units became: every array against the stored weights, computed another way."""

import numpy as np
import pytest

from firstlight import groups, runs
from firstlight.records import RunRecord, Store, StoreError, spec_from_mapping
from tests.tolerances import rounding


def spec(**changes):
    optimizer = {"name": "adam", "learning_rate": 0.02, "weight_decay": 1e-3}
    given = {"task": {"group": "Z7"}, "model": {"width": 24}, "optimizer": optimizer, "lenses": ["cogo"]}
    given |= {"steps": 120, "snapshots": 5, "recording": {"every": 10}}
    return spec_from_mapping(given | changes)


@pytest.fixture(scope="module")
def abelian(tmp_path_factory):
    path = tmp_path_factory.mktemp("history") / "store.sqlite"
    record = runs.run(spec(), store=path, progress="off")
    return record, path, runs.feature_history(record, path)


def weights(record, path, step):
    with Store(path) as store:
        return store.weights(record.id, "final" if step == record.steps else f"step-{step}")


def test_steps_and_waves_are_those_of_the_stored_weights(abelian):
    record, path, history = abelian
    assert history.steps.tolist() == [0, 30, 60, 90, 120]
    assert history.blocks == ("first element", "second element", "output")
    for place, step in enumerate(history.steps):
        stored = weights(record, path, int(step))
        for row, unit in enumerate(history.units):
            expected = np.stack([stored["W"][:7, unit], stored["W"][7:, unit], stored["V"][unit]])
            np.testing.assert_array_equal(history.waves[place, row], expected)


def test_shares_are_those_of_the_discrete_fourier_transform(abelian):
    _, _, history = abelian
    coefficients = np.abs(np.fft.fft(history.waves[:, :, :2], axis=3)) ** 2
    power = coefficients.sum(axis=2)
    pairs = np.stack([power[..., 0], *(power[..., k] + power[..., 7 - k] for k in (1, 2, 3))], axis=-1)
    expected = pairs / pairs.sum(axis=-1, keepdims=True)
    assert history.irreps == ("0", "±1", "±2", "±3")
    np.testing.assert_allclose(history.content, expected, atol=rounding(1.0, terms=14))


def test_energies_are_sums_over_the_whole_table_and_stay_below_their_peaks(abelian):
    _, _, history = abelian
    a, b = history.waves[-1, :, 0], history.waves[-1, :, 1]
    norms = np.sqrt((a**2 + b**2).sum(axis=1, keepdims=True))
    a, b = a / norms, b / norms
    z = np.zeros((len(a), 7))
    for g in range(7):
        for h in range(7):
            z[:, (g + h) % 7] += (a[:, g] + b[:, h]) ** 2
    expected = 0.5 * ((z - z.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    np.testing.assert_allclose(history.energies[-1], expected, atol=rounding(7.0, terms=49))
    np.testing.assert_allclose(history.peaks, [np.nan, 1.75, 1.75, 1.75])
    assert history.energies.max() <= 1.75 * (1 + rounding(1.0, terms=49))


def test_the_census_is_that_of_the_lens(abelian):
    record, _, history = abelian
    rows = np.searchsorted(record.table.step, history.steps)
    np.testing.assert_array_equal(history.orders, record.table["cogo.orders"][rows].astype(int))
    assert history.frequencies == ("±1", "±2", "±3")
    assert len(history.crafted) == 3


def test_points_of_an_irrep_have_the_norms_of_the_projected_rows(abelian):
    record, path, history = abelian
    group = groups.parse("Z7")
    stored = weights(record, path, 120)["W"].astype(float)
    rows = np.hstack([stored[:7], stored[7:]])
    for place, component in enumerate(group.real_components()[1:], start=1):
        expected = np.linalg.norm(component.projector @ rows, axis=1)
        measured = np.linalg.norm(history.points[-1, place], axis=1)
        np.testing.assert_allclose(measured, expected, atol=rounding(np.abs(rows).max(), terms=48))


@pytest.mark.parametrize(
    ("changes", "column", "energies", "orders"),
    [
        ({"task": {"group": "S3"}}, "hidden unit", True, "Abelian"),
        ({"task": {"group": "A4"}, "model": {"width": 8, "activation": "relu"}}, "hidden unit", True, "Abelian"),
        ({"model": {"kind": "deep", "widths": [12, 12]}}, "hidden unit", True, "two_layer"),
        ({"model": {"kind": "embedding", "width": 12, "embedding": 6}}, "hidden unit", True, "two_layer"),
        ({"model": {"kind": "transformer", "width": 8, "mlp": 12}}, "embedding dimension", False, "two_layer"),
        ({"model": {"width": 8, "bias": True}}, "hidden unit", False, "bias"),
    ],
)
def test_every_network_and_group_has_a_history(tmp_path, changes, column, energies, orders):
    wanted = spec(**{"steps": 4, "snapshots": 2, "recording": {"every": 2}, "lenses": [], **changes})
    record = runs.run(wanted, store=tmp_path / "s.sqlite", progress="off")
    history = runs.feature_history(record, tmp_path / "s.sqlite")
    S, U, C = history.content.shape
    assert (S, history.column) == (2, column)
    np.testing.assert_allclose(history.content.sum(axis=2), 1.0, atol=rounding(1.0, terms=24))
    assert history.waves.shape == (S, U, len(history.blocks), history.elements)
    assert history.points.shape == (S, C, history.elements, 2)
    assert (history.energies is not None) == energies == (not history.no_energies)
    assert history.orders is None
    assert orders in history.no_orders
    assert all(np.isfinite(part).all() for part in (history.points, history.waves, history.orbits, history.sizes))


def test_large_networks_show_their_largest_units(tmp_path):
    wanted = spec(model={"width": 300}, steps=2, snapshots=0, recording={"every": 1}, lenses=[])
    record = runs.run(wanted, store=tmp_path / "s.sqlite", progress="off")
    history = runs.feature_history(record, tmp_path / "s.sqlite")
    assert history.columns == 300
    assert len(set(history.units.tolist())) == 128
    sizes = np.linalg.norm(weights(record, tmp_path / "s.sqlite", 2)["W"], axis=0)
    assert set(history.units.tolist()) == set(np.argsort(-sizes, kind="stable")[:128].tolist())
    assert history.steps.tolist() == [2]


def test_a_run_without_weights_says_what_to_do(tmp_path):
    with Store(tmp_path / "s.sqlite", "rw") as store:
        store.put_run(RunRecord(spec=spec(), status="interrupted"))
        store.put_run(RunRecord(spec=spec(task={"kind": "parity"}, lenses=[]), status="finished"))
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(StoreError, match="stored when a run ends"):
            runs.feature_history(spec(), store)
        with pytest.raises(StoreError, match="irreps of a group"):
            runs.feature_history(spec(task={"kind": "parity"}, lenses=[]), store)
