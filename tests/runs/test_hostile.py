"""Whatever a file or a command line holds, a spec is resolved or refused in a few lines, soon, in little memory."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runs.hostile import BYTES, SECONDS

ROOT = Path(__file__).parents[2]
PART = 2500


def attack(count: int, seed: int) -> dict:
    words = [sys.executable, "-m", "tests.runs.hostile", str(count), str(seed)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def hold(result: dict, count: int) -> None:
    assert result["broken"] == []
    assert result["slowest"] < SECONDS
    assert result["longest"] <= BYTES
    ended = result["ended"]
    assert ended["refused"] + ended["resolved"] == count
    assert min(ended["refused"], ended["resolved"]) > 0.02 * count  # both sorts are drawn


def test_hostile_specs_are_resolved_or_refused():
    hold(attack(300, seed=0), 300)


@pytest.mark.soak
def test_a_hundred_thousand_hostile_specs():
    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(lambda seed: attack(PART, seed), range(1, 41)):
            hold(result, PART)
