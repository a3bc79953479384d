"""The README quotes what was measured, its example runs, and its links lead somewhere."""

import json
import re
from pathlib import Path

from benchmarks.__main__ import PAGE, RESULTS, five_lines, full_table, registry
from firstlight import runs
from firstlight.cli.commands.demo import demo_spec
from firstlight.records import run_id

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_table_is_the_one_measured() -> None:
    results = json.loads(RESULTS.read_text())
    assert five_lines(results) in README
    assert full_table(results) in PAGE.read_text()
    assert results.keys() <= registry().keys()


def test_the_page_names_the_targets_that_are_missed_and_no_others() -> None:
    missed = set()
    for name, row in json.loads(RESULTS.read_text()).items():
        value, target = row["value"], row["target"]
        if target is not None and (value > target if row["better"] == "lower" else value < target):
            missed.add(name)
    text = PAGE.read_text().partition("<!-- /benchmarks -->")[2].partition("**Against xrfm**")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == missed


def test_no_number_differs_between_pictures_text_and_demo() -> None:
    numbers = json.loads((ROOT / "docs" / "images" / "numbers.json").read_text())
    demo = numbers["demo"]
    assert demo["spec"] == run_id(runs.with_lenses(demo_spec())), "run python -m tools.pictures demo"
    low, high = demo["forecast"]
    memorised, generalised = f"epoch {demo['memorised']}", f"epoch {demo['generalised']}"
    for text in (README, (ROOT / "docs" / "demo.md").read_text()):
        text = " ".join(text.split())
        assert f"epochs {low} to {high}" in text
        assert memorised in text
        assert generalised in text
        # Every epoch that the text names is one of the demo's.
        assert set(re.findall(r"epoch (\d+)", text)) <= {memorised.split()[1], generalised.split()[1]}
    assert f"memorises addition mod 71 at {memorised}" in (ROOT / "docs" / "index.md").read_text()
    assert f"{numbers['phase']['runs']} runs" in README
    assert numbers["table"]["smallest that matters"] > 2 * numbers["table"]["largest that does not"]
    picture = (ROOT / "docs" / "images" / "grokking.svg").read_text()
    assert "train, forecast" in picture


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_examples_run() -> None:
    network, digits, probe, staircase = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    for large, small in ("Z23", "Z7"), ("256", "32"), ("300", "20"):
        assert large in network
        network = network.replace(large, small)
    scope: dict = {}
    for example in (network, digits, probe, staircase):
        exec(example, scope)
    assert [row.theory for row in scope["record"].verdicts] == ["li2", "cogo", "agf", "fact", "manifold"]
    assert scope["digits"].score(scope["X"][1000:], scope["y"][1000:]) > 0.95
    levels = scope["agf"].predict(scope["problem"], scope["problem"].initial(width=4, alpha=1e-6)).levels
    assert levels.round(6).tolist() == [1.25, 0.25, 0.0]
