"""The tests that execute each line, recorded per test file, and again only if a test file or the source changes."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE, OUTPUT = "FIRSTLIGHT_MUTATE_SOURCE", "FIRSTLIGHT_MUTATE_RECORD"
"""Environment variables that pass the package's folder and the output file to the recorder."""

ROOT = Path(__file__).parents[2]
STATE = ROOT / ".mutate"
FOLDERS = ("groups", "tasks", "models", "flow", "features", "theories", "rfm", "probes")
SKIPPED_TESTS = ("test_example.py", "test_gap.py", "test_estimator_checks.py", "test_integrations.py")
"""Examples are long, and tests of other programs start processes, whose lines are not recorded."""


@dataclass
class Recording:
    """The tests of every line of every file, and their processor seconds, which do not depend on other load."""

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def covering(self, file: str, *lines: int) -> list[str]:
        """Return the tests that execute one of these lines, the quickest first."""
        return self._quickest(test for line in lines for test in self.tests.get(file, {}).get(line, ()))

    def touching(self, file: str) -> list[str]:
        """Return the tests that execute any line of this file, the quickest first."""
        return self._quickest(test for tests in self.tests.get(file, {}).values() for test in tests)

    def _quickest(self, tests) -> list[str]:
        return sorted(set(tests), key=lambda test: (self.seconds[test], test))


def sources() -> list[Path]:
    """Return the modules of the numerics."""
    return [path for folder in FOLDERS for path in sorted((ROOT / "src" / "firstlight" / folder).rglob("*.py"))]


def test_files() -> list[Path]:
    """Return the test files of the numerics, and the modules with doctests."""
    tests = [path for folder in FOLDERS for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    doctests = [path for path in sources() if ">>> " in path.read_text(encoding="utf-8")]
    return [path for path in tests if path.name not in SKIPPED_TESTS] + doctests


def digest(*paths: Path) -> str:
    """Return a digest of the contents of files."""
    made = hashlib.sha256()
    for path in paths:
        made.update(path.read_bytes())
    return made.hexdigest()[:16]


def record(jobs: int) -> Recording:
    """Record the test files without a record, in `jobs` processes, and return the recording of all files."""
    source = digest(*sources())
    stale = [path for path in test_files() if not _cache(path, source).exists()]
    if stale:
        print(f"recording the coverage of {len(stale)} test files", flush=True)
        (STATE / "coverage").mkdir(parents=True, exist_ok=True)
        outputs = [STATE / "coverage" / f"part-{i}.json" for i in range(min(jobs, len(stale)))]
        runs = [_start(stale[i :: len(outputs)], output) for i, output in enumerate(outputs)]
        try:
            codes = [run.wait() for run in runs]
        finally:
            for run in runs:
                run.kill()
        if any(code != 0 for code in codes):
            raise SystemExit("the tests fail without any change, see the output above; fix them first")
        for i, output in enumerate(outputs):
            split(json.loads(output.read_text(encoding="utf-8")), source, stale[i :: len(outputs)])
    return _merged([_cache(path, source) for path in test_files()])


def split(part: dict, source: str, files: Sequence[Path]) -> None:
    """Store a part of a recording by test file; a file may have no selected test."""
    names = {path.relative_to(ROOT).as_posix(): path for path in files}
    made: dict[str, dict] = {name: {"seconds": {}, "lines": {}} for name in names}
    for test, seconds in part["seconds"].items():
        name = test.split("::")[0]
        made[name]["seconds"][test] = seconds
        lines: dict[str, set[int]] = {}
        for context in (test, *part["shared"].get(test, ())):
            for path, numbers in part["lines"].get(context, {}).items():
                lines.setdefault(Path(path).relative_to(ROOT).as_posix(), set()).update(numbers)
        made[name]["lines"][test] = {path: sorted(numbers) for path, numbers in lines.items()}
    for name, path in names.items():
        _cache(path, source).write_text(json.dumps(made[name]), encoding="utf-8")


def _start(files: Sequence[Path], output: Path) -> subprocess.Popen:
    environment = os.environ | {SOURCE: str(ROOT / "src" / "firstlight"), OUTPUT: str(output)}
    options = ["-m", "not slow and not soak", "-p", "no:cacheprovider", "-p", "tools.mutate.recorder", "--timeout=1800"]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *(str(path.relative_to(ROOT)) for path in files)],
        cwd=ROOT,
        env=environment,
    )


def _cache(path: Path, source: str) -> Path:
    name = path.relative_to(ROOT).as_posix().replace("/", ".")
    return STATE / "coverage" / f"{name}-{source}-{digest(path)}.json"


def _merged(caches: Sequence[Path]) -> Recording:
    made = Recording()
    for cache in caches:
        part = json.loads(cache.read_text(encoding="utf-8"))
        made.seconds |= part["seconds"]
        for test, files in part["lines"].items():
            for file, lines in files.items():
                tests = made.tests.setdefault(file, {})
                for line in lines:
                    tests.setdefault(line, set()).add(test)
    return made
