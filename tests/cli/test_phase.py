"""Sweeps of a store on the command line: a list, how far they are, their phase diagrams as text and as files."""

import pytest

from firstlight.cli import _exits as exits

SWEEP = """
seeds = 2
[base]
steps = 10
[base.task]
group = "Z5"
[base.model]
width = 8
[grid]
task.split.fraction = [0.4, 0.8]
optimizer.weight_decay = [0.0, 0.0001, 0.001]
"""


@pytest.fixture
def sweep(folder):
    path = folder / "sweep.toml"
    path.write_text(SWEEP)
    return path


def test_a_sweep_is_listed_followed_and_drawn(cli, sweep, folder):
    before = cli("sweeps", "phase", sweep)
    assert before.code == exits.OK
    assert "No run has ended yet. 12 runs have not ended." in before.out
    done = cli("sweep", sweep, "--jobs", 1, "--report", "page.html")
    assert done.code == exits.OK
    assert "share of seeds that generalise, by training fraction (up) and weight decay (across)" in done.out
    page = (folder / "page.html").read_text()
    assert "Phase diagrams" in page
    assert "<svg" in page
    (listed,) = cli("sweeps", "list", "--json").json
    assert (listed["runs"], listed["varies"], listed["seeds"]) == (12, {"fraction": 2, "decay": 3}, 2)
    assert listed["id"] in cli("sweeps", "list").out
    for place in (sweep, listed["id"], listed["id"][:5]):
        now = cli("sweeps", "status", place, "--json").json
        assert (now["points"], now["finished"], now["left"]) == (12, 12, 0)
    assert cli("sweeps", "status", "--json").json["points"] == listed["runs"]  # the newest, if none is named
    shown = cli("sweeps", "phase")
    lines = shown.out.splitlines()
    rows = [line for line in lines if "┤" in line]
    assert [line.split("┤")[0].strip() for line in rows] == ["0.8", "0.4"]
    assert any(line.split() == ["0", "10⁻⁴", "0.001"] for line in lines)
    (diagram,) = cli("sweeps", "phase", listed["id"], "--json").json
    assert [cell["ended"] for cell in diagram["cells"]] == [2] * 6


@pytest.mark.parametrize("name", ["phase.svg", "phase.png", "phase.html"])
def test_a_diagram_is_written_by_the_ending_of_its_file(cli, sweep, folder, name):
    assert cli("sweeps", "phase", sweep, "--no-theory", "--out", name).code == exits.OK
    assert (folder / name).stat().st_size > 1000
    assert cli("sweeps", "phase", sweep, "--out", "phase.txt").err.startswith("error: --out: the file ends in .svg")


def test_axes_and_other_fields_are_chosen(cli, sweep, folder):
    sweep.write_text(SWEEP + "model.width = [8, 16]\n")
    two = cli("sweeps", "phase", sweep, "--no-theory", "--json").json
    assert [diagram["fixed"] for diagram in two] == [{"hidden units": "8"}, {"hidden units": "16"}]
    (chosen,) = cli("sweeps", "phase", sweep, "--no-theory", "--x", "width", "--where", "decay=0", "--json").json
    assert (chosen["x"]["field"], chosen["y"]["field"]) == ("model.width", "task.split.fraction")
    assert [cell["missing"] for cell in chosen["cells"]] == [2] * 4
    assert "write it as FIELD=VALUE" in cli("sweeps", "phase", sweep, "--where", "decay").err
    for words in (("--x", "wdith"), ("--where", "wdith=8")):
        assert "no field 'wdith'; did you mean 'width'?" in cli("sweeps", "phase", sweep, *words).err


def test_what_is_not_there_is_said(cli, folder):
    assert "there is no store" in cli("sweeps", "phase").err
    assert "there is no store" in cli("sweeps", "list").err


@pytest.mark.parametrize(
    ("change", "points"),
    [("seeds=3", 18), ("seeds=[5]", 6), ("seeds=0,7", 12), ("grid.task.split.fraction=[0.5]", 6), ("base.steps=5", 12)],
)
def test_set_changes_the_seeds_and_the_grid_of_a_sweep(cli, sweep, change, points):
    assert cli("sweep", sweep, "--set", change, "--dry-run", "--no-sample", "--json").json["points"] == points


def test_a_misspelt_field_of_a_sweep_is_recognised(cli, sweep):
    assert "did you mean seeds?" in cli("sweep", sweep, "--set", "seds=3", "--dry-run").err


def test_set_of_a_field_that_varies_says_what_to_change(cli, sweep):
    refused = cli("sweep", sweep, "--set", "task.split.fraction=0.5", "--dry-run")
    assert refused.code == exits.USER_ERROR
    assert "the sweep varies this field; change its values with --set grid.task.split.fraction=[…]" in refused.err
