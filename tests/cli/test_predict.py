"""`firstlight predict`: text, JSON, what is not covered, and what cannot be read."""

import numpy as np
import pytest

from firstlight import groups

SET = ("--set", "task.group=S4", "--set", "task.split.fraction=0.7", "--set", "model.width=300")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))


def test_a_forecast_as_text_and_as_json(cli, spec):
    shown = cli("predict", spec, *SET, "--set", "optimizer.weight_decay=3e-4")
    assert shown.code == 0
    for words in ("chance of generalising", "boundary", "generalises at epoch", "[2,2]"):
        assert words in shown.out
    values = cli("predict", spec, *SET, "--json").json
    assert values["pairs"] == 576
    assert 0 <= values["probability"] <= 1


def test_what_is_not_covered_has_exit_code_1(cli, spec):
    shown = cli("predict", spec, "--set", "optimizer.name=muon")
    assert shown.code == 1
    assert "does not cover this run" in shown.out


def test_a_table_of_ones_own_and_one_that_is_no_group(cli, spec, folder):
    np.savetxt(folder / "mine.csv", groups.dihedral(3).table, fmt="%d", delimiter=",")
    values = cli("predict", spec, "--set", "task.table=mine.csv", "--json")
    assert values.json["group"] == "mine"
    assert "once; then kept in the cache folder" in values.err
    np.savetxt(folder / "mine.csv", [[0, 1], [1, 1]], fmt="%d", delimiter=",")
    refused = cli("predict", spec, "--set", "task.table=mine.csv")
    assert refused.code == 2
    assert "task.table: not a group: element 1 has no inverse" in refused.err
