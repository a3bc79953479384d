"""Files for contributors do what the Makefile does, and name the papers as they are printed."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def recipe(target: str) -> list[str]:
    """Return the commands of a target, with the folder of the environment filled in."""
    lines = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert lines is not None, target
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in lines.group(1).splitlines()]


def test_pre_commit_runs_what_make_lint_runs() -> None:
    hooks = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert hooks == recipe("lint")


def test_hosted_ci_runs_the_script_of_ci_which_runs_make_test() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert re.findall(r"- run: (.+)", workflow) == ["bash .ci/run"]
    assert "make test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere_and_has_its_release_notes() -> None:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/firstlight/__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\nversion = "{version[1]}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(version[1])} — \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE)


def test_the_papers_are_cited_as_they_are_printed() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert len(re.findall(r"- type: article", citation)) == 5
    assert citation.count("Anonymous") == 2
    assert not re.search(r"doi|arxiv|url:", citation, re.IGNORECASE)
