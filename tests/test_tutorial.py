"""The tutorial works as written: its files, commands and snippets, in order, in an empty folder."""

import re
import shlex
from pathlib import Path

import pandas as pd

from firstlight.cli import main

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(toml|console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_tutorial_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRSTLIGHT_STORE", raising=False)
    scope: dict = {}
    kinds = []
    for kind, text in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
        kinds.append(kind)
        if kind == "toml":
            name = re.match(r"# (\S+\.toml)\n", text)
            assert name is not None, f"the first line of a TOML block names its file, got {text[:40]!r}"
            Path(name.group(1)).write_text(text, encoding="utf-8")
        elif kind == "console":
            for line in text.splitlines():
                assert line.startswith("$ firstlight "), line
                words = shlex.split(line)[2:]
                assert main(words) == 0, f"{line}\n{capsys.readouterr().err}"
        else:
            exec(compile(text, str(TUTORIAL), "exec"), scope)
    assert kinds.count("toml") == 2
    assert runs_differ(scope["record"])
    assert {path.name for path in tmp_path.iterdir()} >= {"runs.html", "accuracy.svg", "phase.csv", "phase.svg"}
    table = pd.read_csv(tmp_path / "phase.csv")
    assert len(table) == 2 * 4 * 3
    learned = table.groupby(["task.split.fraction", "optimizer.weight_decay"])["generalised_at"].count()
    assert learned.min() < learned.max(), "a phase diagram with one colour says nothing"


def runs_differ(record) -> bool:
    """Return whether the run of the tutorial memorised before it generalised."""
    from firstlight import runs

    memorised, generalised = (runs.first_step(record, name) for name in ("train_accuracy", "test_accuracy"))
    return memorised is not None and generalised is not None and memorised < generalised
