"""Slurm: the script of an array job whose tasks work on a sweep folder, its submission, and its end."""

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from firstlight._files import write_atomically
from firstlight.sweeps._folder import FolderError, SweepFolder

_SCRIPT = "array.sh"
_TIME = re.compile(r"\d+|\d+:\d{2}|\d+:\d{2}:\d{2}|\d+-\d{1,2}(:\d{2}){0,2}")
_NAME = re.compile(r"[A-Za-z0-9._,+-]+")

_RESTARTS = 10
"""How often a task that was killed or crashed is queued again."""


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
    - `grace`: seconds before the time limit at which a task gets SIGTERM and writes its checkpoint. Slurm may send the
      signal up to a minute earlier.
    - `directives`: further options of sbatch, such as `--account=physics` or `--mem=4G`.

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
    grace: int = 120
    directives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _TIME.fullmatch(self.time):
            raise ValueError(f"time is a time of Slurm, such as 04:00:00 or 2-00:00:00; got {self.time!r}")
        if self.partition and not _NAME.fullmatch(self.partition):
            raise ValueError(f"partition is a name such as short; got {self.partition!r}")
        if self.cores < 1 or (self.at_once is not None and self.at_once < 1):
            raise ValueError(f"cores and tasks at once must be at least 1; got {self.cores} and {self.at_once}")
        if not 1 <= self.grace < _seconds(self.time):
            raise ValueError(f"grace must be from 1 second to less than the time limit {self.time}; got {self.grace}")
        for directive in self.directives:
            if not directive.startswith("-") or not directive.isprintable():
                raise ValueError(f"an option of sbatch is a line such as --account=physics; got {directive!r}")


def _seconds(time: str) -> int:
    """Return a time of Slurm in seconds.

    >>> _seconds("90"), _seconds("04:00:00"), _seconds("1-12"), _seconds("10:30")
    (5400, 14400, 129600, 630)
    """
    days, _, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) < 3:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    else:
        hours, minutes, seconds = parts
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def write_script(folder: SweepFolder, options: SlurmOptions) -> Path:
    """Write the script of the array job into the folder of the sweep; return its path.

    A task that is preempted, or reaches its time limit, gets SIGTERM, writes a checkpoint, and is queued again. So is
    a task that was killed or crashed, at most ten times.
    """
    tasks = folder.plan().tasks
    if not tasks:
        raise SlurmError(f"the sweep in {folder.path} has no tasks: a driver hands out its points; use a new folder")
    limit = f"%{options.at_once}" if options.at_once else ""
    where = folder.path.resolve()
    if not str(where).isprintable() or set(str(where)) & set('%"\\'):
        raise SlurmError(
            "Slurm cannot write logs into a path with %, a double quote, a backslash or a line break; "
            f"got {str(where)!r}. Give another folder with --bundles"
        )
    sbatch = [
        "--job-name=firstlight",
        f"--array=0-{tasks - 1}{limit}",
        f"--time={options.time}",
        f"--cpus-per-task={options.cores}",
        "--requeue",
        f"--signal=B:TERM@{options.grace}",
        "--open-mode=append",
        f'--output="{where}/logs/%a.txt"',
        *([f"--partition={options.partition}"] if options.partition else []),
        *options.directives,
    ]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {line}" for line in sbatch),
        "",
        *(options.prelude.rstrip("\n").split("\n") if options.prelude else []),
        "",
        *_body(where),
    ]
    with folder.writing():
        (where / "logs").mkdir(parents=True, exist_ok=True)
        path = write_atomically(where / _SCRIPT, ("\n".join(lines) + "\n").encode())
        path.chmod(0o755)
    return path


def _body(where: Path) -> list[str]:
    """Return the lines that run one task, pass SIGTERM on, and queue an interrupted task again."""
    # -P: no file of the folder where the job was submitted may replace a module.
    work = f"{shlex.quote(sys.executable)} -P -m firstlight.cli sweeps work {shlex.quote(str(where))}"
    return [
        "export NPROC=${SLURM_CPUS_PER_TASK:-1}",
        "export OMP_NUM_THREADS=$NPROC OPENBLAS_NUM_THREADS=$NPROC MKL_NUM_THREADS=$NPROC",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
        "",
        "# A prelude may have set -eu; from here on, an exit code decides what follows.",
        "set +eu",
        f'{work} --task "$SLURM_ARRAY_TASK_ID" &',
        "task=$!",
        "trap 'kill -TERM \"$task\" 2>/dev/null' TERM",
        'wait "$task"; code=$?',
        "# The trap ends a wait early: wait again for the task itself.",
        'while kill -0 "$task" 2>/dev/null; do wait "$task"; code=$?; done',
        "# 143: stopped by SIGTERM, with a checkpoint. Others: killed or crashed, maybe by its batch, so not for ever.",
        "again=",
        'case "$code" in',
        "  143) again=1 ;;",
        f'  134|135|136|137|139) [ "${{SLURM_RESTART_COUNT:-0}}" -lt {_RESTARTS} ] && again=1 ;;',
        "esac",
        f'if [ -n "$again" ] && [ ! -e {shlex.quote(str(where / "cancel"))} ]; then',
        '  scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"',
        "fi",
        'exit "$code"',
    ]


def allow(folder: SweepFolder) -> None:
    """Take back a cancellation; refuse if a job of this sweep is still in the queue, whose tasks would go on."""
    job = folder.plan().job
    if job and shutil.which("squeue") and job_states(job):
        raise SlurmError(
            f"Slurm job {job} of this sweep is still in the queue; `firstlight sweeps cancel {folder.path}` ends it"
        )
    folder.allow()


def submit(folder: SweepFolder, script: Path) -> str:
    """Submit the array job, remember its id in the plan, and return the id; a job that still runs is refused."""
    allow(folder)
    job = _slurm("sbatch", "--parsable", str(script)).strip().partition(";")[0]
    try:
        with folder.writing():
            folder.write_plan(folder.plan().model_copy(update={"job": job}))
    except FolderError:  # a job that the folder does not know would work beside the next one
        _slurm("scancel", job)
        raise
    return job


def cancel(folder: SweepFolder) -> str:
    """Stop a sweep: its tasks write checkpoints and end; return the id of the Slurm job that was cancelled, or ''."""
    folder.cancel()
    job = folder.plan().job
    if not job or not shutil.which("scancel") or not job_states(job):
        return ""
    # Waiting tasks first, or one of them would start in the place of a running task that has ended.
    for words in (("--state=PENDING", job), ("--signal=TERM", "--batch", job)):
        try:
            _slurm("scancel", *words)
        except SlurmError:
            # Slurm also refuses if no task is in this state; only tasks that go on regardless are an error.
            if set(job_states(job)) & {"PENDING" if "--state" in words[0] else "RUNNING"}:
                raise
    return job


def job_states(job: str) -> list[str]:
    """Return the state of each task of a job that is still in the queue, such as RUNNING."""
    try:
        return _slurm("squeue", "--noheader", "--array", "--format=%T", f"--jobs={job}").split()
    except SlurmError as error:
        if "Invalid job id" in str(error):  # Slurm has forgotten the job
            return []
        raise


def _slurm(command: str, *words: str) -> str:
    if shutil.which(command) is None:
        raise SlurmError(f"{command} is not on this machine; run this on a login node of the cluster")
    try:
        done = subprocess.run([command, *words], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command} did not answer within a minute; try again when Slurm is less busy") from None
    if done.returncode:
        raise SlurmError(f"{command} refused: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
