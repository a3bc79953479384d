"""A Slurm of one node on this machine, from the system's packages, for `make test-slurm`."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo")

_CONF = """\
ClusterName=firstlight
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={controller}
SlurmdPort={daemon}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=2,sched_min_interval=500000
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=60
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
MinJobAge=600
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=low Nodes={host} Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=60
PartitionName=high Nodes={host} MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def why_not() -> str:
    """Return why a Slurm cannot be started here, or ''."""
    missing = [program for program in PROGRAMS if _find(program) is None]
    if missing:
        return f"{', '.join(missing)} not installed; apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "starting Slurm needs root"


@contextmanager
def one_node(folder: Path) -> Iterator[dict[str, str]]:
    """Start a Slurm with one node of two cores; yield the environment its commands need; end it afterwards."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    host = socket.gethostname().partition(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(_CONF.format(host=host, folder=folder, controller=_free_port(), daemon=_free_port()))
    environment = os.environ | {"SLURM_CONF": str(conf)}
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_munge(folder))
        started.append(_start("slurmctld", "-D", "-i", folder=folder, environment=environment))
        started.append(_start("slurmd", "-D", "-N", host, folder=folder, environment=environment))
        _wait_until_idle(environment, folder)
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _munge(folder: Path) -> subprocess.Popen[bytes]:
    """Start munged as its own user with a key of its own."""
    user = pwd.getpwnam("munge")
    own = folder / "munge"
    own.mkdir(exist_ok=True)
    key = own / "munge.key"
    subprocess.run([_find("mungekey"), "--create", "--force", f"--keyfile={key}"], check=True)  # type: ignore[list-item]
    for path in (own, key):
        os.chown(path, user.pw_uid, user.pw_gid)
    own.chmod(0o711)
    key.chmod(0o400)
    socket_path = folder / "munge.socket"
    words = [f"--key-file={key}", f"--socket={socket_path}", f"--pid-file={own}/pid", f"--log-file={own}/log"]
    words += [f"--seed-file={own}/seed", "--force", "--foreground"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o755)
    process = subprocess.Popen(
        [str(_find("munged")), *words], user=user.pw_uid, group=user.pw_gid, extra_groups=[], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 20
    while not socket_path.exists():
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"munged did not start; see {own}/log")
        time.sleep(0.1)
    return process


def _start(program: str, *words: str, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    log = (folder / f"{program}.out").open("wb")
    return subprocess.Popen([str(_find(program)), *words], env=environment, stdout=log, stderr=subprocess.STDOUT)


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
        if "idle" in done.stdout:
            return
        time.sleep(0.5)
    raise RuntimeError(f"Slurm did not come up within a minute; see the logs in {folder}")


def _find(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
