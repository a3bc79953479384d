"""From a spec to a run in the store, and what can be done with it there."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

from firstlight import runs
from firstlight.cli import _exits as exits
from firstlight.records import RunSpec, Store, apply_overrides, load_spec, run_id

SMALL = ("steps=20", "task.group=Z5", "model.width=16")
CHANGES = (("seed=0",), ("seed=1", "optimizer.learning_rate=0.01"))


def test_a_run_is_trained_once_and_then_read(cli, spec, folder):
    first = cli("run", spec)
    assert first.code == exits.OK
    assert first.out.startswith("Z5: ")
    id = run_id(load_spec(spec))
    assert f"run {id[:12]}, finished" in first.out
    again = cli("run", spec, "--json")
    assert "already in the store" in again.err
    assert (again.json["id"], again.json["status"], again.json["steps"]) == (id, "finished", 20)
    forced = cli("run", spec, "--force", "--json")
    assert forced.err == ""
    assert forced.json["created"] > again.json["created"]
    assert (folder / ".firstlight" / "store.sqlite").exists()


def test_overrides_seed_and_store_are_used(cli, spec, folder, monkeypatch):
    done = cli(
        "run", spec, "--set", "steps=10", "--set", "model.width=8", "--seed", 3, "--store", "a/b.sqlite", "--json"
    )
    assert (done.json["spec"]["seed"], done.json["steps"], done.json["spec"]["model"]["width"]) == (3, 10, 8)
    with Store(folder / "a" / "b.sqlite") as store:
        assert store.run_ids() == [done.json["id"]]
    monkeypatch.setenv("FIRSTLIGHT_STORE", "a/b.sqlite")
    assert cli("runs", "list", "--json").json[0]["id"] == done.json["id"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("task.grup=Z5", 'task.grup: unknown field (got "Z5"); did you mean task.group?'),
        ("steps=ten", 'steps: got "ten"; allowed is a whole number > 0'),
        ("optimizer.learning_rate=-1", "optimizer.learning_rate: got -1; allowed is a finite number > 0"),
        ("task.group=Z0", "task.group: "),
        ('lenses=["lie2"]', 'lenses[0]: unknown lens "lie2"'),
        ("steps", "override 'steps': write it as field=value"),
        (
            'stop=[{observable="test_acuracy", at_least=0.9}]',
            "stop[0].observable: this run records no number 'test_acuracy'; did you mean 'test_accuracy'?",
        ),
        ("optimizer.layer_rates.U=0.1", "optimizer.layer_rates.U: this model has no parameter 'U'; it has W, V"),
    ],
)
def test_a_spec_that_means_nothing_is_refused_before_anything_is_made(cli, spec, folder, change, message):
    done = cli("run", spec, "--set", change)
    assert done.code == exits.USER_ERROR
    assert done.err.startswith(f"error: {message}")
    assert done.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["spec.toml"]


def test_a_new_run_that_fails_is_not_called_an_old_one(cli, spec, monkeypatch):
    def broken(*_, **__):
        raise MemoryError("no room")

    monkeypatch.setattr("firstlight.flow.train_lanes", broken)
    done = cli("run", spec)
    assert (done.code, done.err) == (exits.DIFFERS, "")
    assert "failed after 0 epochs: MemoryError: no room" in done.out
    shown = cli("runs", "show", run_id(load_spec(spec)))
    assert "in broken" in shown.out
    assert "Traceback" not in cli("runs", "show", run_id(load_spec(spec)), "--json").out


def test_a_run_that_diverges_has_exit_code_one(cli, spec):
    done = cli("run", spec, "--set", "optimizer.name=sgd", "--set", "optimizer.learning_rate=1e9")
    assert done.code == exits.DIFFERS
    assert "diverged" in done.out


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """A store with two runs, made once."""
    where = tmp_path_factory.mktemp("two") / "store.sqlite"
    specs = [apply_overrides(RunSpec(), [*SMALL, *change]) for change in CHANGES]
    return where.parent, [runs.run(one, store=where, progress="off").id for one in specs]


@pytest.fixture
def ids(two_runs, folder):
    kept, ids = two_runs
    shutil.copytree(kept, folder / ".firstlight")
    return ids


def test_runs_are_listed_and_shown(cli, ids):
    listed = cli("runs", "list")
    assert all(id[:12] in listed.out for id in ids)
    assert "Z5, two layers, width 16" in listed.out
    assert [run["id"] for run in cli("runs", "list", "--status", "finished", "--json").json] == ids
    assert cli("runs", "list", "--status", "failed", "--json").json == []
    shown = cli("runs", "show", ids[1][:8])
    assert ids[1] in shown.out
    assert "accuracy: a train b test" in shown.out
    assert "learning_rate = 0.01" in shown.out
    assert cli("runs", "show", ids[1], "--json").json["table"]["step"] == [0, 10, 20]
    assert cli("runs", "show", "ffff").err.startswith("error: no run in this store has an id that begins with 'ffff'")


def test_runs_are_compared_by_what_differs(cli, ids):
    found = cli("runs", "compare", *ids, "--json").json
    assert found["spec"] == {"optimizer.learning_rate": [0.001, 0.01], "seed": [0, 1]}
    assert found["outcome"]["status"] == ["finished", "finished"]
    assert "optimizer.learning_rate" in cli("runs", "compare", *ids).out


def test_a_run_is_exported_and_deleted(cli, ids, folder, monkeypatch):
    assert cli("runs", "export", ids[0], "out").code == exits.OK
    assert json.loads((folder / "out" / "record.json").read_text())["id"] == ids[0]
    kept = cli("runs", "delete", ids[0])
    assert (kept.code, kept.err) == (exits.USER_ERROR, "error: nothing was deleted; --yes deletes without asking\n")
    assert cli("runs", "delete", ids[0], "--yes").out == f"deleted {ids[0]}\n"
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert cli("runs", "delete", ids[1][:8]).code == exits.OK
    assert cli("runs", "list", "--json").json == []


def test_a_report_shows_the_runs(cli, ids, folder):
    assert cli("report", "page.html", "--title", "Two runs").out.strip() == "page.html"
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Two runs" in page
    assert page.count("Learning curves") == 2
    assert "did not" in page


def test_the_store_is_checked_repaired_and_tidied(cli, ids, folder):
    path = folder / ".firstlight" / "store.sqlite"
    assert "is sound: 2 runs" in cli("store", "check").out
    assert cli("store", "check", path, "--json").json["ok"] is True
    assert "removed 0 files" in cli("store", "gc").out
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 4096])
    checked = cli("store", "check")
    assert checked.code == exits.DIFFERS
    assert "firstlight store repair" in checked.out
    listed = cli("runs", "list")
    assert listed.code == exits.USER_ERROR
    assert "is damaged" in listed.err
    repaired = cli("store", "repair", path, "new.sqlite")
    assert repaired.code in (exits.OK, exits.DIFFERS)
    assert cli("store", "check", "new.sqlite").code == exits.OK


def test_an_interrupted_run_is_kept_and_says_how_to_go_on(spec, folder, cli):
    big = ["--set", "steps=200000", "--set", "recording.every=50"]
    words = [sys.executable, "-m", "firstlight.cli", "run", str(spec), *big]
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
    store, deadline = folder / ".firstlight" / "store.sqlite", time.monotonic() + 60
    while time.monotonic() < deadline and not _steps(store):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == exits.INTERRUPTED
    assert "interrupted: the run is stored up to epoch" in err
    assert "the same command continues it" in err
    assert "Traceback" not in err
    before = cli("runs", "list", "--json").json[0]
    assert before["status"] == "interrupted"
    assert 0 < before["steps"] < 200_000
    kept = folder / ".firstlight" / "store.sqlite.checkpoints"
    shutil.copytree(kept, folder / "copy")
    assert "removed 0 files" in cli("store", "gc").out
    assert cli("runs", "delete", before["id"], "--yes").code == exits.OK
    assert not kept.exists()
    shutil.copytree(folder / "copy", kept)
    assert "removed 1 file that" in cli("store", "gc").out
    assert not kept.exists()


def _steps(path) -> int:
    """How far the run in a store has come, as another process sees it."""
    if not path.exists():
        return 0
    with Store(path) as store:
        return max((record.steps for record in store.runs()), default=0)


def test_the_default_spec_is_an_empty_file(folder):
    (folder / "empty.toml").write_text("")
    assert load_spec(folder / "empty.toml") == RunSpec()


def test_a_dry_run_prints_what_it_would_take_and_makes_nothing(cli, spec, folder):
    shown = cli("run", spec, "--dry-run")
    assert shown.code == exits.OK
    assert all(word in shown.out for word in ("memory", "recorded rows", "disk", "time", "new"))
    facts = cli("run", spec, "--dry-run", "--json").json
    assert (facts["id"], facts["rows"], facts["stored"]) == (run_id(load_spec(spec)), 3, "new")
    assert facts["memory_bytes"] == sum(facts["memory"].values()) > 0
    assert [path.name for path in folder.iterdir()] == ["spec.toml"]


def test_what_would_be_refused_is_refused_dry_as_well(cli, spec, folder):
    large = ("--set", "steps=1000000000000")
    dry, wet = cli("run", spec, "--dry-run", *large), cli("run", spec, *large, "--allow-large")
    assert dry.code == wet.code == exits.USER_ERROR
    assert dry.err == wet.err
    assert dry.err.startswith("error: steps: must be at most 2,147,483,647")
    assert "memory" in dry.out
    assert [path.name for path in folder.iterdir()] == ["spec.toml"]


def test_a_dry_run_knows_what_is_in_the_store(cli, ids, folder):
    (folder / "spec.toml").write_text('steps = 20\ntask.group = "Z5"\nmodel.width = 16\n')
    assert cli("run", "spec.toml", "--dry-run", "--json").json["stored"] == "finished"
    assert "in the store: finished" in cli("run", "spec.toml", "--dry-run").out


def test_a_run_that_does_not_fit_is_refused_unless_large_ones_are_allowed(cli, spec, folder, monkeypatch):
    monkeypatch.setattr("firstlight.runs._limits.available_memory", lambda: 1000)
    refused = cli("run", spec)
    assert refused.code == exits.USER_ERROR
    assert "1.0 kB are available. Use a smaller model.width" in refused.err
    assert refused.err.endswith("--allow-large (allow_large=True) tries anyway\n")
    assert [path.name for path in folder.iterdir()] == ["spec.toml"]
    assert cli("run", spec, "--allow-large").code == exits.OK
