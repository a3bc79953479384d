"""A user's own group: Cayley tables as arrays and files, in tasks, specs, sweeps, stores and lenses."""

import numpy as np
import pytest

from firstlight import groups, report, runs, sweeps, tasks
from firstlight.groups import _tables
from firstlight.records import GroupTask, RunSpec, SpecError, Store, apply_overrides, pin_arrays, run_id
from firstlight.records import spec_from_mapping as made


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the quaternion group, its elements in another order, as three files."""
    monkeypatch.chdir(tmp_path)
    _tables._known.cache_clear()
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    order = np.random.default_rng(3).permutation(8)
    table = np.argsort(order)[groups.quaternion().table[np.ix_(order, order)]]
    np.savetxt("mine.csv", table, fmt="%d", delimiter=",")
    np.savetxt("mine.txt", table, fmt="%d")
    np.save("mine.npy", table)
    return table


SMALL = {"model": {"width": 16}, "steps": 20, "lenses": ["li2"]}


def test_a_table_is_a_task_in_every_form(here):
    for form in (here, here.tolist(), "mine.csv", "mine.txt", "mine.npy", groups.from_table(here)):
        task = tasks.group_task(form)
        assert np.array_equal(task.targets.reshape(8, 8), here)
    assert tasks.group_task("mine.csv").name == "mine"


def test_all_files_of_a_table_are_one_run_and_another_table_is_another(here):
    ids = {run_id(made({**SMALL, "task": {"table": name}})) for name in ("mine.csv", "mine.txt", "mine.npy")}
    named = run_id(made({**SMALL, "task": {"table": "mine.csv", "group": "another name"}}))
    np.save("other.npy", groups.quaternion().table)
    other = run_id(made({**SMALL, "task": {"table": "other.npy"}}))
    assert ids == {named}
    assert other not in ids
    assert run_id(RunSpec()) == "143757514795" + run_id(RunSpec())[12:]  # named groups keep their ids


def test_a_run_on_a_table_trains_is_stored_shown_and_seen_by_lenses(here, tmp_path):
    spec = made({**SMALL, "task": {"table": "mine.csv", "split": {"fraction": 0.8}}})
    record = runs.run(spec, store="s.sqlite", progress="off")
    twin = runs.run(made({**SMALL, "task": {"table": "mine.npy", "split": {"fraction": 0.8}}}), progress="off")
    assert record.status == "finished"
    assert record.id == twin.id
    assert record.table.digest == twin.table.digest
    assert record.table["li2.irreps"].shape[1] == 5  # four irreps of dimension 1, one quaternionic
    (tmp_path / "mine.csv").unlink()
    _tables._known.cache_clear()
    with Store("s.sqlite") as store:
        stored = store.get_run(record.id)
    assert runs.complete(stored).figures  # the table comes from the cache folder
    assert "mine" in report.render([stored])


def test_a_missing_table_names_the_field_and_a_changed_table_the_digest(here, tmp_path):
    spec = pin_arrays(made({**SMALL, "task": {"table": "mine.csv"}}))
    np.savetxt("mine.csv", groups.cyclic(8).table, fmt="%d", delimiter=",")
    with pytest.raises(SpecError, match=r"task\.digest: the table in 'mine\.csv' has digest"):
        runs.resolve(spec)
    with pytest.raises(SpecError, match=r"task\.table: there is no file 'yours\.csv' here"):
        runs.resolve(made({**SMALL, "task": {"table": "yours.csv"}}))


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (lambda t: np.where(t == 5, 6, t), "not a Latin square|no inverse|no identity"),
        (lambda t: t[:, ::-1], "no identity"),
        (lambda t: t + 1, r"must lie in 0…7, but table\["),
        (lambda t: t[:7], "square"),
    ],
)
def test_a_table_that_is_no_group_gets_the_law_that_fails(here, change, law):
    np.savetxt("mine.csv", change(here), fmt="%d", delimiter=",")
    with pytest.raises(SpecError, match=f"task.table: .*({law})"):
        runs.resolve(made({"task": {"table": "mine.csv"}}))
    with pytest.raises(ValueError, match=law):
        tasks.group_task(change(here))


def test_a_table_that_is_not_associative_names_three_elements(here):
    # The smallest loop that is no group has order 5.
    loop = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
    np.savetxt("mine.csv", loop, fmt="%d", delimiter=",")
    with pytest.raises(SpecError, match=r"task.table: not a group: not associative at \(g, h, k\) = \("):
        runs.resolve(made({"task": {"table": "mine.csv"}}))


def test_a_sweep_goes_over_tables_and_overrides_replace_the_group(here):
    np.save("cyclic.npy", groups.cyclic(8).table)
    sweep = sweeps.Sweep(base=made(SMALL), grid={"task.table": ["mine.csv", "cyclic.npy"]}, seeds=2)
    result = sweep.expand()
    assert [spec.task.group for spec in result] == ["mine", "mine", "cyclic", "cyclic"]
    spec = pin_arrays(apply_overrides(RunSpec(), ["task.table=mine.csv"]))
    assert spec.task.digest
    assert spec.task.group == "mine"
    assert apply_overrides(spec, ["task.group=S3"]).task == GroupTask(group="S3")
    other = apply_overrides(spec, ["task.table=cyclic.npy"])
    assert (other.task.group, other.task.digest) == ("cyclic", "")
    with pytest.raises(SpecError, match="digest belongs to table"):
        made({"task": {"group": "S3", "digest": "0" * 64}})
