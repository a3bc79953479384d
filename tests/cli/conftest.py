"""Commands run in this process, in an empty folder, with nothing of the user's environment."""

import json
from dataclasses import dataclass

import pytest

from firstlight.cli import main

SPEC = """
steps = 20
[task]
group = "Z5"
[model]
width = 16
"""


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("FIRSTLIGHT_STORE", "FIRSTLIGHT_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(folder, capsys):
    def command(*words) -> Done:
        code = main([str(word) for word in words])
        return Done(code, *capsys.readouterr())

    return command


@pytest.fixture
def spec(folder):
    path = folder / "spec.toml"
    path.write_text(SPEC)
    return path
