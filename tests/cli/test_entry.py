"""Help is fast, errors are one line, and exit codes are those of the documentation."""

import subprocess
import sys

import numpy as np
import pytest

from firstlight.cli import _exits as exits

COMMANDS = (
    ("demo",),
    ("run",),
    ("sweep",),
    ("runs",),
    ("runs", "list"),
    ("runs", "show"),
    ("runs", "compare"),
    ("runs", "export"),
    ("runs", "delete"),
    ("claims",),
    ("claims", "list"),
    ("claims", "show"),
    ("claims", "docs"),
    ("reproduce",),
    ("report",),
    ("rfm", "fit"),
    ("store", "check"),
    ("store", "repair"),
    ("store", "gc"),
    ("doctor",),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(cli, words):
    done = cli(*words, "--help")
    assert done.code == exits.OK
    assert f"Usage: firstlight {' '.join(words)}" in done.out
    assert not done.err


def test_help_is_fast_and_loads_nothing_heavy():
    code = (
        "import sys, time; start = time.perf_counter(); from firstlight.cli import main; main(['--help']);"
        "took = time.perf_counter() - start;"
        "heavy = ('jax', 'numpy', 'pandas', 'matplotlib', 'sklearn', 'pydantic', 'torch');"
        "print(took, [m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    took, heavy = done.stderr.split(maxsplit=1)
    assert heavy.strip() == "[]"
    assert all(f" {words[0]} " in done.stdout for words in COMMANDS)
    # Half a second on a quiet machine; tests share theirs with others.
    assert float(took) < 3


def test_the_version_is_printed(cli):
    assert cli("--version").out.strip() == "0.2.0"


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "firstlight", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0.2.0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu"], 'error: Unknown command "rnu". Did you mean "run"?'),
        (["run"], 'error: Command "run" parameter SPEC requires an argument.'),
        (["run", "no.toml"], "error: no.toml: cannot be read (No such file or directory)"),
        (["run", "spec.txt"], "error: spec.txt: a spec is a .toml or a .json file"),
        (["runs", "list"], "error: there is no store at .firstlight/store.sqlite"),
        (["runs", "list", "--status", "odd"], "error: Invalid value"),
        (["runs", "compare", "a"], "error: compare needs at least two runs; got 1"),
        (["runs", "delete"], "error: delete needs the id of a run"),
        (["store", "check"], "error: there is no store at .firstlight/store.sqlite"),
        (["store", "gc"], "error: there is no store at .firstlight/store.sqlite"),
        (["claims", "show", "li2.theorm-1"], "error: no claim matches 'li2.theorm-1'; did you mean 'li2.theorem-1'?"),
        (["reproduce", "li2", "--data", "nowhere"], "error: --data: there is no folder nowhere"),
        (["demo", "--out", "no/such/page.html"], "error: --out: no/such/page.html cannot be written"),
        (["report", "out.html"], "error: there is no store at"),
    ],
)
def test_a_users_error_is_one_line_and_leaves_nothing_behind(cli, folder, words, message):
    done = cli(*words)
    assert done.code == exits.USER_ERROR
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert list(folder.iterdir()) == []


def test_debug_adds_the_traceback(cli):
    done = cli("run", "no.toml", "--debug")
    assert done.code == exits.USER_ERROR
    assert "Traceback" in done.err
    assert done.err.rstrip().endswith("error: no.toml: cannot be read (No such file or directory)")


def _divide():
    raise ZeroDivisionError("division by zero")


def _add_shapes():
    return np.zeros(2) + np.linalg.solve(np.zeros((2, 3)), np.zeros(2))


@pytest.mark.parametrize(("broken", "name"), [(_divide, "ZeroDivisionError"), (_add_shapes, "LinAlgError")])
def test_a_bug_shows_its_traceback_and_has_its_own_code(cli, monkeypatch, broken, name):
    """A ValueError raised inside NumPy is as much ours to mend as a division by zero."""
    from firstlight import claims

    monkeypatch.setattr(claims, "find", lambda patterns: broken())
    done = cli("claims", "list")
    assert done.code == exits.BUG
    assert "Traceback" in done.err
    assert f"this is a bug in firstlight ({name})" in done.err


def test_a_reader_who_leaves_is_no_error(folder):
    words = f"{sys.executable} -m firstlight.cli claims show | head -c 1"
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert len(done.stdout) == 1


def test_the_documentation_names_every_exit_code():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    codes = {name: value for name, value in vars(exits).items() if isinstance(value, int)}
    for name, value in codes.items():
        assert f"| {value} |" in page, name
    for words in COMMANDS:
        assert f"firstlight {' '.join(words)}" in page
