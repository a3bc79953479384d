"""Run the tests of one mutant in a copy of the tree; the working tree is never changed."""

import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutate.mutants import Mutant
from tools.mutate.operators import changed
from tools.mutate.recording import ROOT, STATE, Recording

COPIED = ("src", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")
LONGEST = 120.0
"""Total seconds of the tests for one mutant, the quickest tests first."""

SPARE = 120.0
"""Seconds for starting and waiting, in addition to three times the seconds of the tests."""


MEMORY = 4 * 2**30
"""Memory limit for the tests of one mutant, in bytes."""


@dataclass(frozen=True)
class Outcome:
    """The result for a mutant: killed, timeout, survived, or error if pytest did not run; `by` is the failed test."""

    status: str
    by: str = ""
    tests: int = 0


def copy_tree(to: Path) -> Path:
    """Copy the files that the tests read, without caches."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, to / name)
    return to


def chosen_tests(mutant: Mutant, recording: Recording, longest: float = LONGEST) -> list[str]:
    """Return the tests that execute the line, then others of their files that execute the module.

    The others are needed because a cache may hide the execution of a line.
    """
    covering = recording.covering(mutant.file, mutant.change.line, mutant.change.statement)
    files = {test.split("::")[0] for test in covering}
    others = [t for t in recording.touching(mutant.file) if t.split("::")[0] in files and t not in set(covering)]
    chosen, total = [], 0.0
    for test in [*covering, *others]:
        total += recording.seconds[test]
        if chosen and total > longest:
            break
        chosen.append(test)
    return chosen


class Workshop:
    """Copies of the tree, each for one mutant at a time; `close` ends running tests."""

    def __init__(self, recording: Recording, copies: int) -> None:
        self._recording = recording
        self._folder = Path(tempfile.mkdtemp(prefix="firstlight-mutate-"))
        self._trees: queue.Queue[Path] = queue.Queue()
        self._running: set[subprocess.Popen] = set()
        for i in range(copies):
            self._trees.put(copy_tree(self._folder / str(i)))

    def trial(self, mutant: Mutant) -> Outcome:
        """Write the mutant into a copy of the tree, run its tests until the first failure, and restore the source."""
        tests = chosen_tests(mutant, self._recording)
        seconds = 3 * sum(self._recording.seconds[test] for test in tests) + SPARE
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        tree = self._trees.get()
        _write(tree / mutant.file, changed(text, mutant.change))
        try:
            return _run(tests, tree, seconds, self._running)
        finally:
            _write(tree / mutant.file, text)
            self._trees.put(tree)

    def close(self) -> None:
        """End running tests and remove the copies."""
        for process in list(self._running):
            _end(process)
        shutil.rmtree(self._folder, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    """Replace a module and delete its bytecode, whose time stamp may not change."""
    path.write_text(text, encoding="utf-8")
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        stale.unlink()


def _run(tests: Sequence[str], tree: Path, seconds: float, running: set[subprocess.Popen]) -> Outcome:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), os.environ.get("PYTHONPATH", "")])}
    environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(STATE / "xla"))
    options = ["-x", "-p", "no:cacheprovider", "--tb=no", f"--timeout={seconds:.0f}"]
    # A separate process group: Ctrl-C reaches only this program, which then ends its children.
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    _limit_memory(process.pid)
    running.add(process)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return Outcome("timeout", tests=len(tests))
    finally:
        _end(process)
        running.discard(process)
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    if process.returncode == 0:
        return Outcome("survived", tests=len(tests))
    if failed and process.returncode in (1, 2, 4):
        return Outcome("killed", failed[0], len(tests))
    return Outcome("error", output[-2000:], len(tests))


def _limit_memory(process: int) -> None:
    """Limit the memory of a process, if the system can: an endless loop in a mutant may fill a list."""
    if hasattr(resource, "prlimit"):
        resource.prlimit(process, resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
