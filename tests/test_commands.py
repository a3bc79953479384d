"""Every command that a page shows is run in a scratch folder with small files, or checked against what it calls.

A page is run from top to bottom like the tutorial: TOML blocks are files, console lines are commands, Python blocks are
programs. A line of a kind that is not listed here fails the test.
"""

import ast
import importlib
import inspect
import os
import re
import shlex
import shutil
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

from firstlight import claims
from firstlight.cli import main
from firstlight.cli._tree import app
from firstlight.records import load_spec
from firstlight.sweeps import load_sweep
from tests.pages import CONSOLE, PAGES, ROOT, Block, Command, blocks, commands, spans

LANGUAGES = {*CONSOLE, "python", "toml", "text", "yaml", "{toctree}"}
TESTED = {"tutorial.md": "test_tutorial.py", "README.md": "test_readme.py", "figures.md": "plots/test_docs.py"}
"""Pages whose Python blocks, written without `>>>`, another test runs."""

RUN = '[task]\ngroup = "Z5"\n[model]\nwidth = 16\n'
SMALL = {
    "spec.toml": f"steps = 20\n{RUN}",
    "grok.toml": f"steps = 20\n{RUN}",
    "grok113.toml": f"steps = 20\n{RUN}",
    "phase.toml": 'seeds = 2\nbase = "grok.toml"\n[grid]\ntask.group = ["Z5"]\ntask.split.fraction = [0.6, 0.8]\n',
    "boundary.toml": 'seeds = 2\nbase = "grok.toml"\n[grid]\noptimizer.weight_decay = [0.0, 1e-3]\n',
}
"""Files of the pages, small enough to be run; what the page itself says is only checked."""

CHECKED = {
    "firstlight lab": "serves until it is stopped; tests/browser",
    "firstlight demo": "half a minute; tests/cli/test_demo.py runs it with --quick",
    "firstlight duel *": "trains dozens of runs; tests/cli/test_duel.py runs a small one",
    "firstlight reproduce *": "tests/claims measures every claim at quick scale",
    "firstlight claims site pages": "12 s; `make docs` writes all pages, tests/claims/test_packs.py those of a paper",
    "firstlight sweep * --cluster *": "needs a cluster; tests/sweeps/test_cluster.py starts one",
    "firstlight sweeps * tls://*": "needs a cluster; tests/sweeps/test_cluster.py starts one",
    "firstlight sweeps work ~/phase-sweep *": "runs in a job of PBS",
    "firstlight runs export --tensorboard *": "needs an extra; tests/records/test_dashboards.py",
    "firstlight runs export --mlflow *": "needs a server; tests/records/test_dashboards.py",
}
"""Lines of firstlight that are parsed and not run, with the reason."""

ELSEWHERE = {
    "openssl *": "tests/sweeps/test_cluster.py runs these lines",
    "chmod 600 key.pem ca-key.pem": "tests/sweeps/test_cluster.py runs these lines",
    "rsync -a phase-sweep/runs/ me@desk:collected/": "needs two machines; the test copies the folder",
    "source ~/venvs/firstlight/bin/activate": "belongs to a site",
    "cat prelude.sh": "its output is the file that the next line reads",
}
"""Lines for other programs, with the reason why they are not run here."""

FACTORY = """
import torch
from torch import nn

def make_model():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))

def run():
    loader = [(torch.ones(8, 4), torch.ones(8, 3))]
    return {"make_model": make_model, "loader": loader, "loss": nn.MSELoss(), "weight_decay": 0.1}
"""

WITH_COMMANDS = [page for page in PAGES if any(block.language in CONSOLE for block in blocks(page))]
LINES = [
    line for page in WITH_COMMANDS for block in blocks(page) if block.language in CONSOLE for line in commands(block)
]


def reason(line: Command, listed: dict[str, str]) -> str:
    """Return why a line is not run, or ''."""
    text = " ".join(line.words)
    return next((why for pattern, why in listed.items() if text == pattern or fnmatchcase(text, pattern)), "")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder with the small files, a table, checkpoints and a Slurm that accepts every job."""
    for name in ("FIRSTLIGHT_STORE", "FIRSTLIGHT_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for name, text in SMALL.items():
        Path(name).write_text(text, encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, answer in {"sbatch": "echo 4711", "squeue": "true", "scancel": "true", "scontrol": "true"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{answer}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def write_inputs(line: Command) -> None:
    """Write what a line reads and no line before it has written."""
    words = line.words
    if "data.csv" in words:
        rows = np.random.default_rng(0).normal(size=(60, 3))
        np.savetxt("data.csv", rows, delimiter=",", header="a,b,y", comments="")
    if "checkpoints" in words:
        torch = pytest.importorskip("torch")
        Path("my.py").write_text(FACTORY)
        Path("checkpoints").mkdir()
        for step in (0, 5):
            model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
            torch.save(model.state_dict(), f"checkpoints/step_{step}.pt")
    if "OLD_FOLDER" in words:
        shutil.copytree(
            ROOT / "src" / "firstlight" / "claims" / "evidence", "OLD_FOLDER", ignore=shutil.ignore_patterns("figures")
        )
    if words[:2] == ["firstlight", "data"]:
        Path(words[2]).mkdir()
    if words[:4] == ["firstlight", "sweeps", "gather", "phase-sweep"]:
        assert main(["sweeps", "work", "phase-sweep", "--task", "0"]) == 0  # what Slurm would have started
    if words[0] == "cat":
        Path(words[1]).write_text("\n".join(line.shown) + "\n")
    if words[0] == "rsync":
        shutil.copytree("phase-sweep/runs", "collected")
    if words[:3] == ["firstlight", "sweeps", "work"]:
        Path("phase-sweep", "cancel").unlink(missing_ok=True)  # an earlier line of the page has ended the sweep


def check(line: Command) -> None:
    """Check that a line of firstlight names a command that exists, its options, and claims that exist."""
    words = [re.sub(r"^\$\w+$", "0", word) for word in line.words[1:]]
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    if words[0] == "reproduce":
        assert claims.find(bound.args)


def perform(line: Command, capsys) -> None:
    """Run a line, or check what it calls if it cannot be run here."""
    write_inputs(line)
    kind = line.words[0]
    if kind == "firstlight":
        check(line)
        if reason(line, CHECKED):
            return
        code = main(line.words[1:])
        printed = capsys.readouterr()
        assert code == 0, f"{line}\n{printed.err}"
        # Numbers depend on machine and size, a remark on how far a sweep is; the first word of most lines does not.
        firsts = [shown.split()[0] for shown in line.shown if not shown[0].isdigit()]
        missing = [first for first in firsts if first not in printed.out + printed.err]
        assert len(missing) <= len(firsts) / 3, f"{line}\nprinted no {missing}:\n{printed.out}"
    elif kind == "make":
        check_make(line.words)
    elif kind == "pip":
        check_pip(line.words)
    elif kind == "dask":
        check_dask(line.words)
    else:
        assert reason(line, ELSEWHERE), f"no test knows how to check this line: {line}"


def check_make(words: list[str]) -> None:
    """Check that targets and variables of a `make` line are in the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in words[1:]:
        name, given, _ = word.partition("=")
        known = (
            f"$({name})" in makefile or f"$(or $({name})" in makefile
            if given
            else re.search(rf"^{re.escape(name)}:", makefile, re.M)
        )
        assert known, f"{shlex.join(words)}: the Makefile has no {name}"


def check_pip(words: list[str]) -> None:
    """Check that a `pip install` line names this package and extras of pyproject.toml."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert words[:2] == ["pip", "install"]
    (wanted,) = words[2:]
    named = re.fullmatch(r"(?:firstlight|\.)(?:\[([\w,]+)\])?", wanted)
    assert named, wanted
    assert set((named.group(1) or "torch").split(",")) <= extras.keys(), wanted


def check_dask(words: list[str]) -> None:
    """Check that a `dask` line has options that dask knows."""
    module = importlib.import_module(f"distributed.cli.dask_{words[1]}")
    known = {option for parameter in module.main.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known, words


SHRUNK = {
    "Z23": "Z5",
    "128": "16",
    "2000": "20",
    "seeds=5": "seeds=2",
    "0.01, store": "0.2, store",
    '"every": 25': '"every": 5',
}
UNABLE = {"SLURMCluster(": "needs Slurm; tests/slurm", "SlurmExecutor(": "needs Slurm; tests/slurm"}


def program(block: Block, scope: dict) -> None:
    """Run a Python block with small numbers, or check its names and keywords if it cannot be run here."""
    if any(word in block.text for word in UNABLE):
        check_calls(block)
        return
    text = block.text
    for large, small in SHRUNK.items():
        text = text.replace(large, small)
    exec(compile(text, block.page.name, "exec"), scope)


def check_calls(block: Block) -> None:
    """Check that names imported from firstlight exist and take the keywords with which they are called."""
    tree = ast.parse(block.text)
    names = {
        alias.name: getattr(importlib.import_module(str(node.module)), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("firstlight")
        for alias in node.names
    }
    assert names
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            keywords = {str(keyword.arg): None for keyword in node.keywords}
            inspect.signature(names[node.func.id]).bind(*node.args, **keywords)


def check_file(block: Block) -> None:
    """Check that a TOML block is a spec or a sweep, and write it unless a small file stands for it."""
    name = block.file or "unnamed.toml"
    given = tomllib.loads(block.text)
    path = Path("checked") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(block.text, encoding="utf-8")
    if {"base", "grid", "points"} & given.keys():
        assert load_sweep(path).expand()
    else:
        load_spec(path)
    if name not in SMALL:
        shutil.copy(path, name)


@pytest.mark.skipif(os.name == "nt", reason="the pages are written for a POSIX shell")
@pytest.mark.parametrize(
    "page", [page for page in WITH_COMMANDS if page.name != "tutorial.md"], ids=lambda page: page.stem
)
def test_every_line_of_a_page_works(page, place, capsys):
    scope: dict = {}
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page.name}, line {block.line}: a block of {block.language!r}"
        if block.language in CONSOLE:
            for line in commands(block):
                perform(line, capsys)
        elif block.language == "toml":
            check_file(block)
        elif block.language == "python" and not block.doctest and page.name not in TESTED:
            program(block, scope)


def test_no_page_has_python_that_nothing_runs():
    for page in PAGES:
        if page not in WITH_COMMANDS and page.name not in TESTED:
            assert all(block.doctest for block in blocks(page) if block.language == "python"), page.name


@pytest.mark.parametrize("listed", [CHECKED, ELSEWHERE], ids=["checked", "elsewhere"])
def test_no_list_outlives_its_lines(listed):
    for pattern in listed:
        assert any(reason(line, {pattern: "listed"}) for line in LINES), pattern


NAMED = [*PAGES, *sorted(ROOT.glob("examples/**/*.py")), *sorted(ROOT.glob("examples/**/*.txt"))]


@pytest.mark.parametrize("page", [page for page in NAMED if spans(page)], ids=lambda page: page.stem)
def test_commands_named_in_running_text_exist(page):
    for span in spans(page):
        if span.startswith("make "):
            check_make(shlex.split(span))
        else:
            check_span(span)


def check_span(span: str) -> None:
    """Check the command of a code span and its options; its arguments may be words such as SPEC."""
    path, apps, left = app.parse_commands([word for word in span.split()[1:] if word != "--help"])
    if path and apps[-1].default_command is None:
        assert not left, f"{span}: {' '.join(path)} has no command {left[0]!r}"
    arguments = apps[-1].assemble_argument_collection() if apps[-1].default_command else ()
    known = {"--help", "--version", "--debug", *(name for argument in arguments for name in argument.names)}
    assert path or span.split()[1] in ("--help", "--version", "COMMAND", "…"), span
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", span.partition(" --sbatch=")[0]))
    assert options <= known, f"{span}: {' '.join(path)} has no {sorted(options - known)}"
