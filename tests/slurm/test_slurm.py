"""A sweep on a real Slurm of one node: run, preempted, stopped, killed, cancelled; it ends with the local numbers."""

import os
import signal
import time

import pytest

from tests.slurm.conftest import wait_for

pytestmark = pytest.mark.slurm

LONG = 250_000
"""Steps of a point that trains for some ten seconds."""


def test_an_array_job_gives_the_numbers_of_a_local_sweep(site):
    job = site.submit(2000, "--time", "00:30:00", "--sbatch=--comment=phase", "--at-once", "2")
    shown = site.slurm("scontrol", "show", "job", job)
    assert "Requeue=1" in shown
    assert "Comment=phase" in shown
    assert "TimeLimit=00:30:00" in shown
    site.wait_until_done()
    site.require_local_numbers()
    done = site.command("sweeps", "status", "shared")
    assert done.returncode == 0
    assert "left           0" in done.stdout


def test_the_status_of_a_running_sweep_has_the_time_left(site):
    site.submit(LONG)
    wait_for(lambda: site.status().remaining and site.status().finished, 240, "a finished point and the time left")
    now = site.status()
    assert now.running in (1, 2)
    assert now.finished + now.left == 6
    assert 1 < now.seconds < 300
    assert now.remaining == pytest.approx(now.seconds * now.left / now.running)
    shown = site.command("sweeps", "status", "shared").stdout
    assert "left with" in shown or "left           0" in shown
    second = site.command("sweep", "phase.toml", "--slurm", "--submit", "--array", "2", "--bundles", "shared")
    assert second.returncode == 2
    assert "of this sweep is still in the queue" in second.stderr
    site.wait_until_done()


def test_a_preempted_sweep_is_queued_again_and_ends_with_the_same_numbers(site):
    site.submit(LONG)
    wait_for(lambda: site.status().running == 2, 120, "two running tasks")
    time.sleep(5)
    urgent = ["sbatch", "--partition=high", "--ntasks=2", "--output=/dev/null", "--wrap", "sleep 3"]
    site.slurm(*urgent)
    wait_for(lambda: "terminated: checkpoints are in" in site.logs(), 120, "a preempted task")
    assert site.checkpoints()
    assert site.status().left > 0
    site.wait_until_done()
    site.require_local_numbers()


def test_a_task_at_its_time_limit_leaves_a_checkpoint_and_is_queued_again(site):
    # Slurm sends the signal up to a minute early, so that it arrives some seconds after the start.
    job = site.submit(2 * LONG, "--time", "00:01:00", "--grace", "40")
    wait_for(lambda: "terminated: checkpoints are in" in site.logs(), 180, "SIGTERM before the limit")
    assert site.checkpoints()
    wait_for(lambda: "Restarts=1" in site.slurm("scontrol", "show", "job", job, check=False), 120, "a second start")
    site.wait_until_done(900)
    assert "TIMEOUT" not in site.slurm("scontrol", "show", "job", job, check=False)
    site.require_local_numbers()


def test_a_killed_task_is_queued_again(site):
    site.submit(LONG)
    wait_for(lambda: len(site.checkpoints()) or site.status().finished, 120, "a task at work")
    killed = 0
    for line in site.slurm("ps", "-eo", "pid,args").splitlines():
        pid, _, words = line.strip().partition(" ")
        if f"sweeps work {site.shared}" in words and "firstlight.cli" in words:
            os.kill(int(pid), signal.SIGKILL)
            killed += 1
    assert killed
    site.wait_until_done()
    site.require_local_numbers()


def test_a_cancelled_sweep_goes_on_when_it_is_submitted_again(site):
    site.submit(LONG)
    wait_for(lambda: site.status().running == 2, 120, "two running tasks")
    time.sleep(5)
    done = site.command("sweeps", "cancel", "shared")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cancelled Slurm job" in done.stdout
    wait_for(lambda: not site.states(), 120, "an empty queue")
    assert site.status().cancelled
    assert site.status().left > 0
    assert "submit it again to go on" in site.command("sweeps", "status", "shared").stdout
    again = site.command("sweeps", "cancel", "shared")  # nothing is left to cancel, which is no error
    assert (again.returncode, again.stdout[:10]) == (0, "cancelled;")
    site.submit(LONG)
    site.wait_until_done()
    site.require_local_numbers()


def test_a_refusal_of_slurm_is_one_line(site):
    with pytest.raises(AssertionError, match=r"sbatch refused: .*invalid partition"):
        site.submit(100, "--partition", "nowhere")
