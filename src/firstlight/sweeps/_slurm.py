"""Slurm: the script of an array job whose tasks work on a sweep folder, its submission, and its end."""

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from firstlight._files import write_atomically
from firstlight.sweeps._folder import SweepFolder

_SCRIPT = "array.sh"
_TIME = re.compile(r"\d+|\d+:\d{2}|\d+:\d{2}:\d{2}|\d+-\d{1,2}(:\d{2}){0,2}")
_NAME = re.compile(r"[A-Za-z0-9._,+-]+")
_GRACE = 120
"""Seconds before the time limit at which Slurm sends SIGTERM, so that a task can write its checkpoint."""


class SlurmError(RuntimeError):
    """Slurm is missing or refused a request; the message has its words."""


@dataclass(frozen=True)
class SlurmOptions:
    """How an array job is submitted.

    **Arguments:**

    - `time`: the time limit of a task, in Slurm's form, such as `04:00:00`.
    - `partition`: the partition, or '' for the site's default.
    - `prelude`: lines of shell to run first, such as `module load python`.
    - `cores`: processor cores per task.
    - `at_once`: largest number of tasks that run at the same time, or None.

    >>> SlurmOptions(time="four hours")
    Traceback (most recent call last):
    ...
    ValueError: time is a time of Slurm, such as 04:00:00 or 2-00:00:00; got 'four hours'
    """

    time: str = "04:00:00"
    partition: str = ""
    prelude: str = ""
    cores: int = 1
    at_once: int | None = None

    def __post_init__(self) -> None:
        if not _TIME.fullmatch(self.time):
            raise ValueError(f"time is a time of Slurm, such as 04:00:00 or 2-00:00:00; got {self.time!r}")
        if self.partition and not _NAME.fullmatch(self.partition):
            raise ValueError(f"partition is a name such as short; got {self.partition!r}")
        if self.cores < 1 or (self.at_once is not None and self.at_once < 1):
            raise ValueError(f"cores and tasks at once must be at least 1; got {self.cores} and {self.at_once}")


def write_script(folder: SweepFolder, options: SlurmOptions) -> Path:
    """Write the script of the array job into the folder of the sweep; return its path.

    A task that is preempted, or reaches its time limit, gets SIGTERM, writes a checkpoint, and is queued again.
    """
    tasks = folder.plan().tasks
    limit = f"%{options.at_once}" if options.at_once else ""
    where = folder.path.resolve()
    (where / "logs").mkdir(parents=True, exist_ok=True)
    python = shlex.quote(sys.executable)
    lines = [
        "#!/bin/bash",
        "#SBATCH --job-name=firstlight",
        f"#SBATCH --array=0-{tasks - 1}{limit}",
        f"#SBATCH --time={options.time}",
        f"#SBATCH --cpus-per-task={options.cores}",
        "#SBATCH --requeue",
        f"#SBATCH --signal=B:TERM@{_GRACE}",
        "#SBATCH --open-mode=append",
        f"#SBATCH --output={where}/logs/%a.txt",
        *([f"#SBATCH --partition={options.partition}"] if options.partition else []),
        "",
        *(options.prelude.rstrip("\n").split("\n") if options.prelude else []),
        "export NPROC=$SLURM_CPUS_PER_TASK",
        "export OMP_NUM_THREADS=$NPROC OPENBLAS_NUM_THREADS=$NPROC",
        "",
        "# The shell passes SIGTERM on. A task that was stopped by it (143) has its checkpoint and is queued again.",
        f'{python} -m firstlight.cli sweeps work {shlex.quote(str(where))} --task "$SLURM_ARRAY_TASK_ID" &',
        "task=$!",
        "trap 'kill -TERM \"$task\"' TERM",
        'wait "$task"; code=$?',
        # wait returns early when the trap runs; wait again for the task itself.
        'while kill -0 "$task" 2>/dev/null; do wait "$task"; code=$?; done',
        f'if [ "$code" -eq 143 ] && [ ! -e {shlex.quote(str(where / "cancel"))} ]; then',
        '  scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"',
        "fi",
        'exit "$code"',
    ]
    path = write_atomically(where / _SCRIPT, ("\n".join(lines) + "\n").encode())
    path.chmod(0o755)
    return path


def submit(folder: SweepFolder, script: Path) -> str:
    """Submit the array job, remember its id in the plan, and return the id."""
    words = _slurm("sbatch", "--parsable", str(script)).strip()
    job = words.partition(";")[0]
    folder.allow()
    folder.write_plan(folder.plan().model_copy(update={"job": job}))
    return job


def cancel(folder: SweepFolder) -> str:
    """Stop a sweep: its tasks write checkpoints and end; return the id of the Slurm job that was cancelled, or ''."""
    folder.cancel()
    job = folder.plan().job
    if job and shutil.which("scancel"):
        _slurm("scancel", "--signal=TERM", "--batch", job)
        _slurm("scancel", "--state=PENDING", job)
        return job
    return ""


def _slurm(command: str, *words: str) -> str:
    if shutil.which(command) is None:
        raise SlurmError(f"{command} is not on this machine; run it on a login node of the cluster")
    done = subprocess.run([command, *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise SlurmError(f"{command} refused: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
