"""The README quotes what was measured, its example runs, and its links lead somewhere."""

import json
import re
from pathlib import Path

from benchmarks.__main__ import CLOSE, OPEN, RESULTS, readme_table, registry

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_table_is_the_one_measured() -> None:
    results = json.loads(RESULTS.read_text())
    assert readme_table(results) in README
    assert results.keys() <= registry().keys()


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_examples_run() -> None:
    network, digits, probe, staircase = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    for large, small in ("Z71", "Z7"), ("2048", "32"), ("180", "3"):
        network = network.replace(large, small)
    scope: dict = {}
    for example in (network, digits, probe, staircase):
        exec(example, scope)
    assert scope["run"].status == "finished"
    assert scope["digits"].score(scope["X"][1000:], scope["y"][1000:]) > 0.95
    levels = scope["agf"].predict(scope["problem"], scope["problem"].initial(width=4, alpha=1e-6)).levels
    assert levels.round(6).tolist() == [1.25, 0.25, 0.0]
    assert OPEN in README
    assert CLOSE in README
