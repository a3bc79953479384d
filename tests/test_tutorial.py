"""The tutorial works as written: its files, commands and snippets, in order, in an empty folder."""

from pathlib import Path

import pandas as pd

from firstlight.cli import main
from tests.pages import ROOT, blocks, commands

TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_every_block_of_the_tutorial_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRSTLIGHT_STORE", raising=False)
    scope: dict = {}
    kinds = []
    for block in blocks(TUTORIAL):
        kinds.append(block.language)
        if block.language == "toml":
            assert block.file, f"the first line of a TOML block names its file, got {block.text[:40]!r}"
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for line in commands(block):
                if line.words[0] != "pip":
                    assert line.words[0] == "firstlight", line
                    assert main(line.words[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
        else:
            assert block.language == "python", block
            exec(compile(block.text, str(TUTORIAL), "exec"), scope)
    assert kinds.count("toml") == 2
    assert runs_differ(scope["record"])
    assert {path.name for path in tmp_path.iterdir()} >= {"runs.html", "accuracy.svg", "phase.csv", "phase.svg"}
    table = pd.read_csv(tmp_path / "phase.csv")
    assert len(table) == 2 * 5 * 4
    learned = table.groupby(["task.split.fraction", "optimizer.weight_decay"])["generalised_at"].count()
    assert learned.min() < learned.max(), "a phase diagram with one colour says nothing"


def runs_differ(record) -> bool:
    """Return whether the run of the tutorial memorised before it generalised."""
    from firstlight import runs

    memorised, generalised = (runs.first_step(record, name) for name in ("train_accuracy", "test_accuracy"))
    return memorised is not None and generalised is not None and memorised < generalised
