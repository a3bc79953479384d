"""The script of an array job in a real shell, with small programs in the place of Slurm and of the task."""

import os
import signal
import subprocess
import sys
import time

import pytest

from firstlight.sweeps import (
    FolderError,
    SlurmError,
    SlurmOptions,
    SweepFolder,
    _slurm,
    sweep_from_mapping,
    write_script,
)
from firstlight.sweeps import submit as submit_job

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Slurm and its scripts need a POSIX shell")

SWEEP = sweep_from_mapping({"base": {"task": {"group": "Z5"}, "model": {"width": 8}, "steps": 5}, "seeds": 3})


def program(path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site whose `scontrol` and `scancel` write down how they were called."""
    for name in ("scontrol", "scancel"):
        program(tmp_path / "bin" / name, f'echo {name} "$@" >> "{tmp_path}/calls"')
    program(tmp_path / "bin" / "sbatch", "echo '4711;cluster'")
    program(tmp_path / "bin" / "squeue", "true")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def calls(site) -> str:
    return (site / "calls").read_text() if (site / "calls").exists() else ""


def start(script, **more: str) -> subprocess.Popen:
    job = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_JOB_ID": "7", **more}
    return subprocess.Popen([script], env={**os.environ, **job}, stdout=subprocess.PIPE, text=True)


def script_with(site, monkeypatch, task: str, name: str = "a sweep's $(folder)", **options):
    """Return the script of a sweep whose task is a program of shell, in a folder with awkward letters."""
    folder = SweepFolder.create(site / name, SWEEP, 3)
    monkeypatch.setattr(sys, "executable", program(site / "it's python" / "python", task))
    return folder, write_script(folder, SlurmOptions(**options))


@pytest.mark.parametrize("prelude", ["", "set -euo pipefail\n", "set -e\r\n".replace("\r\n", "\n") + "export A='b c'"])
@pytest.mark.parametrize(
    ("code", "restarts", "again"),
    [(0, 0, False), (1, 0, False), (143, 50, True), (137, 0, True), (137, 10, False), (134, 3, True), (139, 3, True)],
)
def test_an_exit_code_decides_whether_a_task_is_queued_again(site, monkeypatch, prelude, code, restarts, again):
    _, script = script_with(site, monkeypatch, f'printf "%s|" "$@"; exit {code}', prelude=prelude)
    process = start(script, SLURM_RESTART_COUNT=str(restarts))
    shown = process.communicate(timeout=60)[0]
    assert process.returncode == code
    assert calls(site) == ("scontrol requeue 7_2\n" if again else "")
    assert shown == f"-P|-m|firstlight.cli|sweeps|work|{site}/a sweep's $(folder)|--task|2|"


def test_a_signal_reaches_the_task_and_a_cancelled_one_is_not_queued_again(site, monkeypatch):
    task = f"trap 'exit 143' TERM; touch '{site}/started'; while true; do sleep 0.05; done"
    folder, script = script_with(site, monkeypatch, task, prelude="set -eu")
    for cancelled in (False, True):
        (site / "started").unlink(missing_ok=True)
        process = start(script)
        deadline = time.monotonic() + 60
        while not (site / "started").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        if cancelled:
            folder.cancel()
            (site / "calls").unlink()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 143
        assert calls(site) == ("" if cancelled else "scontrol requeue 7_2\n")


@pytest.mark.parametrize("letter", ["%", '"', "\\", "\n"])
def test_a_path_that_slurm_cannot_write_logs_into_is_refused(site, letter):
    folder = SweepFolder.create(site / f"a{letter}b", SWEEP, 2)
    with pytest.raises(SlurmError, match="Slurm cannot write logs into a path with"):
        write_script(folder, SlurmOptions())


@pytest.mark.parametrize("given", [{"partition": "short\n#SBATCH --uid=0"}, {"directives": ("--comment=a\nrm -r /",)}])
def test_an_option_with_a_line_break_is_refused(given):
    with pytest.raises(ValueError, match="got "):
        SlurmOptions(**given)


def test_a_job_that_the_folder_cannot_remember_is_cancelled(site, monkeypatch):
    folder, script = script_with(site, monkeypatch, "true", name="shared")

    def full(plan):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_plan", full)
    with pytest.raises(FolderError, match="No space left on device"):
        submit_job(folder, script)
    assert calls(site) == "scancel 4711\n"
    monkeypatch.undo()
    assert folder.plan().job == ""


def test_a_cancellation_is_taken_back_only_if_no_job_is_left(site):
    folder = SweepFolder.create(site / "shared", SWEEP, 2)
    folder.write_plan(folder.plan().model_copy(update={"job": "4711"}))
    folder.cancel()
    program(site / "bin" / "squeue", "echo RUNNING")
    with pytest.raises(SlurmError, match="is still in the queue"):
        _slurm.allow(folder)
    assert folder.cancelled()
    program(site / "bin" / "squeue", "true")
    _slurm.allow(folder)
    assert not folder.cancelled()
