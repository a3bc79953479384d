"""The page on figures runs from top to bottom, and its table has every constructor."""

import re
from pathlib import Path

from firstlight.records.figure import FIGURE_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "figures.md").read_text(encoding="utf-8")


def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
        exec(compile(block, "docs/figures.md", "exec"), names)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"figure.safetensors", "figure.pdf", "slide.png", "report.html"}
    assert "accuracy: a training data" in capsys.readouterr().out


def test_table_has_every_kind():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.M)) == set(FIGURE_KINDS)
