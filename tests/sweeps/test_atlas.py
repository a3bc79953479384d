"""Phase diagrams of stored runs: every cell is the share of its seeds, all cells are visible, theory's line is ½."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.records import PhaseAxis, PhaseRecord, RunRecord, RunSpec, SpecError, Store, Table, spec_from_mapping
from firstlight.records.figure import unpack_series
from firstlight.sweeps import (
    Outcome,
    Sweep,
    SweepFolder,
    draw_all,
    draw_phase,
    families,
    family_of,
    outcome_of,
    points_of_family,
    points_of_folder,
    points_of_sweep,
    stored_outcomes,
)
from firstlight.sweeps._atlas._axis import choose_axes, make_axis, place_of, places_of
from firstlight.sweeps._atlas._theory import expect, half_line

FRACTIONS, DECAYS, SEEDS = (0.4, 0.5, 0.6), (0.0, 1e-4, 1e-3), range(3)


def made(fraction, decay, seed, width=16, group="Z7", **changes):
    values = {"task": {"group": group, "split": {"fraction": fraction}}, "model": {"width": width},
              "optimizer": {"weight_decay": decay}, "steps": 20, "seed": seed, **changes}  # fmt: skip
    return spec_from_mapping(values)


def outcome(spec, generalised, status="finished"):
    return Outcome(f"{hash(spec.model_dump_json()):x}", spec, status, generalised, 1.0)


def grid(success, **changes):
    specs = [made(f, d, s, **changes) for f, d, s in itertools.product(FRACTIONS, DECAYS, SEEDS)]
    return [(spec, outcome(spec, success(spec))) for spec in specs]


def lucky(spec):
    return (spec.task.split.fraction * 10 + 1000 * spec.optimizer.weight_decay + spec.seed) % 2 < 1


def test_each_cell_is_the_share_of_its_seeds():
    diagram = draw_phase(grid(lucky), "decay", "fraction", theory=False)
    assert diagram.x.values == DECAYS
    assert diagram.y.values == FRACTIONS
    assert len(diagram.cells) == 9
    for cell in diagram.cells:
        own = [lucky(made(FRACTIONS[cell.row], DECAYS[cell.column], seed)) for seed in SEEDS]
        assert (cell.ended, cell.generalised, cell.missing) == (3, sum(own), 0)
        assert cell.low < cell.share + 1e-12
        assert cell.high > cell.share - 1e-12
        assert len(cell.runs) == 3
    rate = diagram.figures[0].arrays["rate"]
    assert rate.tolist() == np.array([cell.share for cell in diagram.cells]).reshape(3, 3).tolist()


def test_runs_that_have_not_ended_are_missing_and_diverged_runs_did_not_generalise():
    points = grid(lambda spec: True)
    points[0] = (points[0][0], None)
    points[1] = (points[1][0], outcome(points[1][0], False, "failed"))
    points[2] = (points[2][0], outcome(points[2][0], False, "diverged"))
    cell = draw_phase(points, "decay", "fraction", theory=False).cells[0]
    assert (cell.ended, cell.generalised, cell.missing) == (1, 0, 2)
    record = RunRecord(spec=points[0][0], status="diverged", summary={"generalised_at": 5})
    assert not outcome_of(record).generalised


def test_a_decay_of_zero_and_decades_gets_cells_of_one_size():
    diagram = draw_phase(grid(lucky), "decay", "fraction", theory=False)
    assert diagram.x.spacing == "named"
    figure = diagram.figures[0]
    assert figure.meta["x_names"] == ("0", "10⁻⁴", "0.001")
    assert np.diff(figure.arrays["x"]).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("values", "spacing"),
    [
        ([0.3, 0.4, 0.5], "linear"),
        ([1e-4, 1e-3, 1e-2], "log"),
        ([16, 64, 256, 1024], "log"),
        ([0, 1e-4, 1e-3], "named"),
        ([0.1, 0.11, 0.9], "named"),
        (["adam", "muon"], "named"),
        ([5.0], "linear"),
    ],
)
def test_axes_are_spaced_so_that_every_cell_is_seen(values, spacing):
    assert make_axis("some.field", values).spacing == spacing


@given(st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=1, max_size=12, unique=True))
def test_values_of_an_axis_are_placed_where_they_are(values):
    axis = make_axis("some.field", values)
    assert list(axis.values) == sorted(values)
    assert len(set(axis.names)) == len(values)
    assert [place_of(axis, value) for value in axis.values] == list(range(len(values)))
    gaps = np.diff(np.log(places_of(axis)) if axis.spacing == "log" else places_of(axis))
    assert len(gaps) < 2 or gaps.max() <= 4.0001 * gaps.min()


def test_groups_are_placed_by_their_orders_unless_two_share_one():
    assert make_axis("task.group", ["Z11", "Z7", "S4"]).values == (7, 11, 24)
    assert make_axis("task.group", ["Z6", "S3", "Z5"]).names == ("Z5", "S3", "Z6")
    assert place_of(make_axis("task.group", ["Z11", "Z7"]), "Z11") == 1


def test_other_fields_are_fixed_or_averaged_and_the_diagram_says_so():
    points = grid(lambda spec: True) + grid(lambda spec: False, width=32)
    whole = draw_phase(points, "decay", "fraction", theory=False)
    assert whole.averaged == ("hidden units",)
    assert {cell.share for cell in whole.cells} == {0.5}
    narrow = draw_phase(points, "decay", "fraction", fixed={"width": "16"}, theory=False)
    assert {cell.share for cell in narrow.cells} == {1.0}
    assert narrow.fixed == {"hidden units": "16"}
    assert [d.fixed["hidden units"] for d in draw_all(points, "decay", "fraction", theory=False)] == ["16", "32"]
    with pytest.raises(SpecError, match=r"no run has model.width=17; model.width has 16, 32"):
        draw_phase(points, "decay", "fraction", fixed={"width": 17})
    with pytest.raises(SpecError, match="two different axes; got decay twice"):
        draw_phase(points, "decay", "optimizer.weight_decay")


def test_axes_are_chosen_with_the_fraction_upwards():
    fraction, decay, width = "task.split.fraction", "optimizer.weight_decay", "model.width"
    assert choose_axes([fraction, decay]) == (decay, fraction)
    assert choose_axes([decay, width]) == (decay, width)
    assert choose_axes([width], x="fraction") == (fraction, width)
    assert choose_axes([]) == (decay, fraction)


def test_families_hold_runs_that_differ_in_the_axes_and_the_seed_only():
    runs = [run for _, run in grid(lucky)]
    others = [run for _, run in grid(lucky, optimizer={"name": "muon", "weight_decay": 0.0})]
    alone = [outcome(made(0.5, 0.0, 0, steps=7), True)]
    known = families([*runs, *others, *alone])
    assert [len(family.runs) for family in known] == [27, 27]
    assert known[1].varying == {"fraction": 3, "decay": 3}
    assert known[0].varying == {"fraction": 3}
    assert known[1].seeds == 3
    assert known[1].default_axes == ("decay", "fraction")
    assert known[0].default_axes == ("decay", "fraction")
    assert "Z7, two layers, width 16" in known[1].title


def record_of(spec, generalised=True):
    table = Table([0, 20], {"test_accuracy": [0.0, float(generalised)], "train_accuracy": [0.0, 1.0]})
    summary = {"generalised_at": 20 if generalised else None, "story": "a story"}
    return RunRecord(spec=spec, status="finished", steps=20, table=table, summary=summary)


def test_a_store_is_read_once_and_then_only_where_it_changed(tmp_path, monkeypatch):
    specs = [made(f, 0.0, s) for f, s in itertools.product(FRACTIONS, SEEDS)]
    with Store(tmp_path / "s.sqlite", "rw") as store:
        for spec in specs[:8]:
            store.put_run(record_of(spec, spec.seed == 0))
        known = {}
        assert len(stored_outcomes(store, known)) == 8
        store.put_run(record_of(specs[8]))
        reads = []
        whole = Store.get_run
        monkeypatch.setattr(Store, "get_run", lambda self, id: reads.append(id) or whole(self, id))
        assert len(stored_outcomes(store, known)) == 9
        assert len(reads) == 1
        family = family_of(store)
        diagram = draw_phase(points_of_family(family), *family.default_axes, theory=False)
        assert [cell.ended for cell in diagram.cells] == [3, 3, 3]
        with pytest.raises(ValueError, match=rf"no sweep begins with 'zz'; the store has {family.id}"):
            family_of(store, "zz")


def test_points_of_a_sweep_and_of_its_folder_carry_what_has_ended(tmp_path):
    sweep = Sweep(base=made(0.5, 0.0, 0), grid={"task.split.fraction": list(FRACTIONS)}, seeds=2)
    with Store(tmp_path / "s.sqlite", "rw") as store:
        store.put_run(record_of(sweep.expand()[0]))
        assert [run is not None for _, run in points_of_sweep(sweep, store)] == [True] + 5 * [False]
    SweepFolder.create(tmp_path / "folder", sweep, 1)
    assert [run for _, run in points_of_folder(tmp_path / "folder")] == 6 * [None]


def axis(count, spacing="linear", first=1.0):
    values = tuple(first * (10.0**k if spacing == "log" else 1 + k) for k in range(count))
    return PhaseAxis(field="f", label="f", spacing=spacing, values=values, names=tuple(map(str, values)))


@pytest.mark.parametrize("spacing", ["linear", "log"])
def test_the_line_is_where_the_logit_of_the_chance_is_zero(spacing):
    x, y = axis(5), axis(7, spacing)
    places = np.log(places_of(y)) if spacing == "log" else places_of(y)
    edge = places[3] + np.linspace(0.1, 0.9, 5) * (places[4] - places[3])
    # A logit that is linear in the place is found exactly.
    chances = 1 / (1 + np.exp(-3 * (places[:, None] - edge[None, :])))
    (line,) = half_line(chances, x, y)
    shown = np.log(line.y) if spacing == "log" else line.y
    assert shown == pytest.approx(edge, rel=1e-6)
    assert np.asarray(line.x).tolist() == list(x.values)
    (turned,) = half_line(chances.T, y, x)
    assert np.asarray(turned.x) == pytest.approx(np.asarray(line.y))
    assert half_line(np.full((7, 5), 0.9), x, y) == ()


def test_theory_is_asked_where_it_applies_and_says_why_not_elsewhere():
    points = grid(lucky, width=256, steps=4000)
    diagram = draw_phase(points, "decay", "fraction")
    assert all(0 <= cell.chance <= 1 for cell in diagram.cells)
    spec = points[0][0]
    from firstlight.theories import li2

    assert diagram.cells[0].chance == pytest.approx(li2.predict(spec).probability, rel=1e-12)
    silent = draw_phase(grid(lucky, loss={"kind": "cross_entropy"}), "decay", "fraction")
    assert all(cell.chance is None for cell in silent.cells)
    assert silent.theory == "No forecast: it was measured with the squared error."
    assert not unpack_series(silent.figures[0], "theory")


def test_a_boundary_that_is_not_cached_is_waited_for(monkeypatch):
    monkeypatch.setattr("firstlight.sweeps._atlas._theory.is_cached", lambda group: False)
    answer = expect([made(0.5, 0.0, 0)], compute=False)
    assert answer.waiting == ("Z7",)
    assert answer.chances == (None,)


def test_a_record_comes_back_from_json():
    diagram = draw_phase(grid(lucky), "decay", "fraction", theory=False)
    assert PhaseRecord.from_json(diagram.to_json()) == diagram
    assert not any(math.isnan(cell.low) for cell in diagram.cells)
    assert RunSpec().seed == 0


def test_the_example_of_the_guide_plans_its_sweep_and_draws_it():
    import runpy
    from pathlib import Path

    sweep = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "phase_diagram.py"))["sweep"]
    (diagram,) = draw_all(points_of_sweep(sweep, None), title=sweep.name)
    assert sum(cell.missing for cell in diagram.cells) == 72
    assert (diagram.x.spacing, diagram.y.spacing) == ("named", "linear")
    assert unpack_series(diagram.figures[0], "theory")
