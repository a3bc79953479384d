"""Results of parts, read from pytest's report, and a state file that survives an interruption."""

import json
import os
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Result:
    """The result of a part under a setting; `digest` identifies the source."""

    digest: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: tuple[str, ...] = ()

    @property
    def green(self) -> bool:
        return self.failed == 0 and self.passed + self.skipped > 0


def read_report(report: Path, digest: str, seconds: float, code: int) -> Result:
    """Count the tests of a JUnit report; a missing report, or an exit code without a failed test, is one failure.

    **Arguments:**

    - `report`: the path of the JUnit report.
    - `digest`: the digest of the source.
    - `seconds`: the time of the part.
    - `code`: pytest's exit code, which is also not 0 if no test ran or the collection failed.
    """
    try:
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return Result(digest, failed=1, seconds=seconds, failures=(f"pytest wrote no report (exit code {code})",))
    red = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    failures = [f"{case.get('classname')}::{case.get('name')}" for case in red]
    if code != 0 and not red:
        failures = [f"pytest ended with exit code {code} after {len(cases)} tests"]
    passed = len(cases) - len(red) - len(skipped)
    return Result(digest, passed, len(failures), len(skipped), round(seconds, 1), tuple(failures))


class State:
    """Results by setting and part, written atomically after each part."""

    def __init__(self, path: Path, fresh: bool = False):
        self.path = path
        self.results: dict[str, dict[str, Result]] = {}
        if path.exists() and not fresh:
            self.results = _load(path)

    def get(self, setting: str, part: str, digest: str) -> Result | None:
        """Return the result on exactly this source, or None."""
        result = self.results.get(setting, {}).get(part)
        return result if result is not None and result.digest == digest else None

    def expected_seconds(self, setting: str, part: str, default: float) -> float:
        """Return the time of the last run under this setting, else the longest under any setting, else `default`."""
        own = self.results.get(setting, {}).get(part)
        other = [results[part] for results in self.results.values() if part in results]
        return own.seconds if own else max((result.seconds for result in other), default=default)

    def put(self, setting: str, part: str, result: Result) -> None:
        self.results.setdefault(setting, {})[part] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.results, default=asdict, indent=1))
        os.replace(new, self.path)


def _load(path: Path) -> dict[str, dict[str, Result]]:
    try:
        stored: dict[str, dict[str, dict[str, Any]]] = json.loads(path.read_text())
        return {
            setting: {part: Result(**{**values, "failures": tuple(values["failures"])}) for part, values in own.items()}
            for setting, own in stored.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SystemExit(f"{path} is not a state file of this command ({error}); run with --fresh") from None
