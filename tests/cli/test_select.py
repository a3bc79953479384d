"""`runs list` chooses, orders, groups and names runs; `runs compare` overlays their curves."""

import pytest

from firstlight import runs
from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands import _select as select
from firstlight.records import RunSpec, Store, apply_overrides
from firstlight.sweeps._atlas import AXES

SMALL = ("steps=20", "task.group=Z5", "model.width=16")
CHANGES = ((), ("seed=1",), ("optimizer.weight_decay=0.01",), ("seed=1", "optimizer.weight_decay=0.01"))


@pytest.fixture
def four(folder):
    """Four small runs: two decays, two seeds."""
    with Store(folder / ".firstlight" / "store.sqlite", "rw") as store:
        specs = [apply_overrides(RunSpec(), [*SMALL, *change]) for change in CHANGES]
        return [runs.run(spec, store=store, progress="off").id for spec in specs]


def listed(cli, *words):
    return [run["id"] for run in cli("runs", "list", "--json", *words).json]


def test_runs_are_chosen_ordered_and_cut(cli, four):
    assert listed(cli, "--where", "optimizer.weight_decay>0") == four[2:]
    assert listed(cli, "--where", "seed=1", "--where", "optimizer.weight_decay!=0.01") == [four[1]]
    assert listed(cli, "--where", "task.group=Z6") == []
    assert {*listed(cli, "--sort", "-seed")[:2]} == {four[1], four[3]}
    accuracy = [
        run["summary"]["final"]["test_accuracy"]
        for run in cli("runs", "list", "--json", "--sort", "-test_accuracy").json
    ]
    assert accuracy == sorted(accuracy, reverse=True)
    assert listed(cli, "--where", "test>=0") == four  # as the column is headed
    cut = cli("runs", "list", "--limit", 3)
    assert four[3][:12] not in cut.out
    assert "3 of 4 runs" in cut.err


def test_a_list_names_runs_by_what_differs(cli, four):
    out = cli("runs", "list").out
    assert out.startswith("all runs: Z5, two layers, width 16")
    assert out.splitlines()[1].split()[:3] == ["id", "decay", "seed"]
    for name in ("decay", "weight_decay"):  # as the column is headed, and the last word of the field
        assert listed(cli, "--where", f"{name}=0.01") == four[2:]
    assert all(select._HEADINGS.get(name, field) == field for name, field in AXES.items())


def test_a_narrow_list_loses_columns_before_it_becomes_cards(cli, four, monkeypatch):
    monkeypatch.setattr(screen, "_WIDE", 70)
    done = cli("runs", "list")
    head = done.out.splitlines()[1].split()
    assert {"id", "decay", "generalised", "test"} <= {*head}
    assert "a wider window also shows began" in done.err
    assert len(done.out.splitlines()) == 2 + len(four)


def test_a_list_without_runs_has_a_head_only(cli, four):
    assert len(cli("runs", "list", "--where", "seed=7").out.splitlines()) == 1


def test_seeds_are_averaged_in_groups(cli, four):
    rows = cli("runs", "list", "--group-by", "optimizer.weight_decay", "--json").json
    assert [(row["optimizer.weight_decay"], row["runs"]) for row in rows] == [("0", 2), ("0.01", 2)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--where", "sead=1"), "runs have no field 'sead'; did you mean 'seed'?"),
        (("--where", "seed"), "write it as FIELD=VALUE"),
        (("--where", "seed=one"), "seed is a number; got 'one'"),
        (("--where", "task.group<Z6"), "task.group is no number; compare it with = or !="),
        (("--sort", "sead"), "runs have no field 'sead'"),
        (("--limit", "0"), "--limit must be at least 1; got 0"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(cli, four, words, message):
    done = cli("runs", "list", *words)
    assert done.code == exits.USER_ERROR
    assert message in done.err


def test_curves_are_overlaid_and_written(cli, four, folder):
    done = cli("runs", "compare", four[0], four[2], "--figure", "--out", folder / "both.svg")
    assert done.out.count("weight_decay 0.01") >= 2
    assert (folder / "both.svg").read_text(encoding="utf-8").count("weight_decay 0.01") >= 1


def test_a_file_among_the_runs_to_compare_is_named_with_its_option(cli, four):
    done = cli("runs", "compare", four[0], four[2], "--figure", "both.svg")
    assert done.code == exits.USER_ERROR
    assert "both.svg is no run; `--out both.svg`" in done.err


def test_a_run_says_what_to_try_and_what_each_theory_says(cli, spec):
    done = cli("run", spec, "--set", 'lenses=["li2"]')
    assert "It did not memorise: try more steps" in done.out
    assert "agrees?" in done.out
    assert "\nLi₂: " in done.out
    id = cli("runs", "list", "--json").json[0]["id"]
    assert "\nLi₂: " in cli("runs", "show", id).out


def test_only_the_first_page_of_help_explains_exit_codes(cli):
    assert "Exit codes" in cli("--help").out
    assert "Exit codes" not in cli("runs", "list", "--help").out
    assert "Exit codes" not in cli("run", "--help").out
