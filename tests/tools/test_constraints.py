"""The files of constraints pin every package that an extra of the package names."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def names(requirements) -> set[str]:
    return {re.split(r"[\[=<>~; ]", requirement)[0].lower() for requirement in requirements} - {"firstlight"}


@pytest.mark.parametrize(
    ("file", "extras"), [("constraints.txt", None), ("constraints-oldest.txt", {"test", "cluster"})]
)
def test_every_named_requirement_is_pinned(file, extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    optional = project["project"]["optional-dependencies"]
    wanted = names(project["project"]["dependencies"]) | names(project["dependency-groups"]["build"])
    for extra in optional if extras is None else extras:
        wanted |= names(optional[extra])
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert wanted - {line.partition("==")[0] for line in lines if "==" in line} == set()
