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


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    small = example.replace("Z71", "Z7").replace("inputs=142, width=2048, outputs=71", "inputs=14, width=32, outputs=7")
    scope: dict = {}
    exec(small.replace("steps=180", "steps=3"), scope)
    assert scope["run"].status == "finished"
    assert OPEN in README
    assert CLOSE in README
