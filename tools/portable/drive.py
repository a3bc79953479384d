"""Run the missing parts: for each setting, each part that the setting can affect."""

import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.portable.parts import ROOT, Part, digest
from tools.portable.pythons import without_torch
from tools.portable.results import Result, State, read_report
from tools.portable.settings import (
    Setting,
    Used,
    environment_of,
    pinned,
    probe,
    processor_flags,
    really_used,
    refused,
    unsupported,
)

Runner = Callable[[Setting, Part, str], Result]
Prober = Callable[[Setting], Used]


@dataclass
class Row:
    """A row of the table: what a setting really uses, why it is skipped, and the results of its parts."""

    setting: Setting
    used: str = ""
    skipped: str = ""
    results: dict[Part, Result] = field(default_factory=dict)

    @property
    def green(self) -> bool:
        return all(result.green for result in self.results.values())


def affected(setting: Setting, parts: Sequence[Part]) -> list[Part]:
    """Return the parts whose results a setting can change; other versions of Python have no torch."""
    here = setting.python == sys.executable
    return [part for part in parts if part.uses & setting.affects and (here or "aten" not in part.uses)]


def rows(settings: Sequence[Setting], prober: Prober) -> list[Row]:
    """Probe what every setting uses on this machine; skip a setting that computes like an earlier setting."""
    made, kernels = [], {}
    machine, flags = platform.machine(), processor_flags()
    for setting in settings:
        skipped, row = unsupported(setting, machine, flags), Row(setting)
        if not skipped:
            used = prober(setting)
            skipped = refused(setting, used)
            row.used = "" if skipped else really_used(setting, used)
            if not skipped and "OPENBLAS_CORETYPE" in setting.environment:
                same = kernels.setdefault(row.used, setting.name)
                skipped = f"this build uses the {row.used}, as for {same}" if same != setting.name else ""
        row.skipped = skipped
        made.append(row)
    return made


def drive(table: Sequence[Row], parts: Sequence[Part], state: State, runner: Runner, say=print) -> None:
    """Run the parts that are missing or failed on the current source, print the time left, and fill the rows."""
    digests = {part: digest(part) for part in parts}
    pending = []
    for row in table:
        for part in affected(row.setting, parts) if not row.skipped else ():
            done = state.get(row.setting.name, part.name, digests[part])
            if done is not None and done.green:
                row.results[part] = done
            else:
                pending.append((row, part))
    green = sum(len(row.results) for row in table)
    say(f"{len(pending)} parts to run, {green} already green on this source")
    expected = [state.expected_seconds(row.setting.name, part.name, part.seconds) for row, part in pending]
    for index, (row, part) in enumerate(pending):
        left = sum(expected[index:])
        say(f"[{index + 1}/{len(pending)}, {_duration(left)} left] {row.setting.name}: {part.name}")
        result = runner(row.setting, part, digests[part])
        state.put(row.setting.name, part.name, result)
        row.results[part] = result
        for failure in result.failures:
            say(f"  red: {failure}")


def pytest_runner(folder: Path, jobs: int) -> Runner:
    """Return a function that runs a part in its own process and writes report and output to the folder.

    Ctrl-C reaches pytest too. The function then waits for pytest to end and leaves the part without a result.
    """

    def run(setting: Setting, part: Part, source: str) -> Result:
        logs = folder / "logs" / setting.name.replace(" ", "-")
        logs.mkdir(parents=True, exist_ok=True)
        name = part.name.replace(" ", "-").replace("/", "-")
        report, start = logs / f"{name}.xml", time.perf_counter()
        report.unlink(missing_ok=True)
        workers = [] if setting.cores == 1 else ["-n", str(jobs), "--dist", "worksteal"]
        command = [*pinned(setting), "-m", "pytest", *workers, "-m", "not soak", "-p", "no:cacheprovider"]
        left_out = without_torch(part) if setting.python != sys.executable else []
        command += [f"--junitxml={report}", *left_out, *part.targets]
        with (logs / f"{name}.txt").open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment_of(setting, folder),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                code = process.wait()
            except KeyboardInterrupt:
                try:
                    process.wait(30)
                except (KeyboardInterrupt, subprocess.TimeoutExpired):
                    process.kill()
                raise
        return read_report(report, source, time.perf_counter() - start, code)

    return run


def default_prober(folder: Path) -> Prober:
    return lambda setting: probe(setting, folder)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
