"""Ctrl-C and SIGTERM at any moment: a checkpoint, one line on how to go on, the right exit code, no child left."""

import contextlib
import gc
import importlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from firstlight import _interrupts as interrupts
from firstlight import claims, runs
from firstlight.claims import Check, Claim, Measurement, Setting
from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.records import Store, load_spec, run_id
from firstlight.sweeps import load_sweep

CODES = {signal.SIGINT: exits.INTERRUPTED, signal.SIGTERM: exits.TERMINATED}
BASE = """
steps = {steps}
recording.every = 200
model.width = 16
optimizer.learning_rate = 0.01
[task]
group = "Z5"
"""


class Command:
    """A command in a session of its own, as a terminal would run it."""

    def __init__(self, folder: Path, *words: str) -> None:
        line = [sys.executable, "-m", "firstlight.cli", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(line, cwd=folder, text=True, start_new_session=True, **pipes)
        until(lambda: self.process.poll() is not None or self._listens())

    def _listens(self) -> bool:
        """Whether Python has come as far as our handlers; before, SIGTERM is the system's."""
        with contextlib.suppress(OSError, TypeError):
            caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{self.process.pid}/status").read_text())[1]
            return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
        return False

    def members(self) -> set[int]:
        """The processes of its session that have not ended."""
        found = set()
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
                if int(session) == self.process.pid and state != "Z":
                    found.add(int(stat.parent.name))
        return found

    def signal(self, number: int, everyone: bool = False) -> None:
        """Send a signal to the command, or as a terminal does on Ctrl-C to everyone in its group."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if everyone else os.kill)(self.process.pid, number)

    def ends(self, number: int, seconds: float = 90) -> str:
        """Wait for its end by a signal, check all that holds for every command, and return stderr."""
        _, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode == CODES[number], err
        word = "interrupted" if number == signal.SIGINT else "terminated"
        assert len(re.findall(rf"^{word}: .*(same command|continues|starts it again)", err, re.M)) == 1, err
        assert "Traceback" not in err, err
        until(lambda: not self.members(), 10)
        return err


def until(seen, seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def rows(path: Path) -> int:
    if not path.exists():
        return 0
    with Store(path) as store:
        return max((record.steps for record in store.runs()), default=0)


@pytest.fixture
def start(folder):
    """Starts a command in the folder, and kills it if the test has failed before its end."""
    started = []

    def command(*words) -> Command:
        started.append(Command(folder, *words))
        return started[-1]

    yield command
    for command in started:
        command.signal(signal.SIGKILL, everyone=True)


@pytest.fixture
def listening():
    with signals.listening():
        yield


def test_sigterm_saves_the_run_and_the_same_command_goes_on_to_the_same_bits(start, folder, cli):
    (folder / "spec.toml").write_text(BASE.format(steps=80_000))
    command = start("run", "spec.toml")
    path = folder / ".firstlight" / "store.sqlite"
    until(lambda: rows(path) > 200)
    command.signal(signal.SIGTERM)
    err = command.ends(signal.SIGTERM)
    step = int(re.search(r"the run is stored up to epoch (\d+) in \.firstlight/store\.sqlite; the same", err)[1])
    spec = runs.resolve(load_spec(folder / "spec.toml")).spec
    assert 200 < step < 80_000
    assert runs.saved_step(path, spec) == step
    assert cli("run", "spec.toml").code == exits.OK
    whole = runs.run(spec, store=folder / "whole.sqlite", progress="off")
    with Store(path) as store:
        assert store.get_run(spec).result_digest == whole.result_digest
    assert runs.saved_step(path, spec) is None


def test_ctrl_c_while_workers_start_prints_no_traceback_and_leaves_none(start, folder):
    (folder / "sweep.toml").write_text("seeds = 8\n[base]\n" + BASE.format(steps=500).replace("[task]", "[base.task]"))
    command = start("sweep", "sweep.toml", "--jobs", "2")
    until(lambda: len(command.members()) >= 4)  # the driver, two trackers of resources, and the first worker
    command.signal(signal.SIGINT, everyone=True)
    command.ends(signal.SIGINT)


def test_ctrl_c_while_modules_are_imported_is_one_line(start):
    command = start("demo")
    command.signal(signal.SIGINT)
    command.ends(signal.SIGINT)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)  # the handler ends it


class Swallows:
    """Raises a signal where Python can only print what its handler raises."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)
        time.sleep(0)  # the handler runs here


def swallowed_by_del(number: int) -> None:
    Swallows(number)


def swallowed_by_the_collector(number: int) -> None:
    def callback(phase: str, info: dict) -> None:
        if phase == "stop":
            gc.callbacks.remove(callback)
            os.kill(os.getpid(), number)
            time.sleep(0)

    gc.callbacks.append(callback)
    gc.collect()


def swallowed_by_jax(number: int) -> None:
    import jax
    import numpy as np

    def callback(x):
        os.kill(os.getpid(), number)
        time.sleep(0.02)
        return np.asarray(x)

    jax.pure_callback(callback, jax.ShapeDtypeStruct((), np.float32), np.float32(1)).block_until_ready()


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
@pytest.mark.parametrize("swallow", [swallowed_by_del, swallowed_by_the_collector, swallowed_by_jax])
def test_no_callback_swallows_the_request(cli, monkeypatch, swallow, number):
    reached = []

    def measure(setting: Setting) -> Measurement:
        if not reached:
            reached.append("the signal")
            swallow(number)
            deadline = time.monotonic() + 5  # a long computation, which the exception still reaches
            while time.monotonic() < deadline:
                time.sleep(0.01)
        reached.append("the end")
        return Measurement({})

    made = tuple(
        Claim(f"li2.lemma-{i}", "Zero", f"Lemma {i}", "0 = 0.", Check(measure, lambda data: [])) for i in range(2)
    )
    monkeypatch.setattr(claims, "find", lambda patterns: made)
    done = cli("reproduce", "li2")
    assert done.code == CODES[number], done.err
    assert "`firstlight reproduce li2 --resume` continues" in done.err
    assert "Traceback" not in done.err
    assert reached == ["the signal"]
    with Store(".firstlight/store.sqlite") as store:
        assert not store.claims(), "a verdict was recorded that no check has reached"


def test_a_request_turned_into_an_error_is_not_a_verdict(listening):
    def measure(setting: Setting) -> Measurement:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        raise RuntimeError("INTERNAL: CpuCallback error calling callback: KeyboardInterrupt")

    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", Check(measure, lambda data: []))
    with pytest.raises(KeyboardInterrupt):
        claims.reproduce([claim])


def test_a_section_is_finished_before_the_request_is_raised(listening):
    steps = []

    def write() -> None:
        with interrupts.deferred():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.25)  # longer than it takes to raise it again
            interrupts.check()
            steps.append("whole")
        steps.append("after it")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert steps == ["whole"]
    assert interrupts.requested() == signal.SIGINT


def test_without_the_command_line_ctrl_c_is_pythons_own():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        ctrl_c()
    interrupts.check()
    with signals.listening():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


AGAIN = """
import os, signal, sys, time
from firstlight import _interrupts as interrupts
from firstlight.cli import _signals as signals

with signals.listening():
    signals.resumes(lambda: "the last checkpoint is at step 7; the same command goes on")
    with interrupts.deferred():
        for number in (signal.SIGINT, int(sys.argv[1])):
            os.kill(os.getpid(), number)
            time.sleep(0.3)
        time.sleep(60)
"""


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGINT, "interrupted again"), (signal.SIGTERM, "terminated")], ids=["twice", "other"]
)
def test_the_second_signal_ends_at_once_and_says_what_is_saved(number, words):
    start = time.monotonic()
    line = [sys.executable, "-c", AGAIN, str(int(number))]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert time.monotonic() - start < 30
    assert done.returncode == CODES[number]
    said = f"{words} before it had stopped: the last checkpoint is at step 7; the same command goes on"
    assert done.stderr.strip() == said


def test_handlers_are_set_before_anything_that_takes_time(monkeypatch):
    handlers, begin = [], signals.threading.Thread.start

    def start(thread):
        handlers.extend(signal.getsignal(number) for number in CODES)
        begin(thread)

    monkeypatch.setattr(signals.threading.Thread, "start", start)
    before = signal.getsignal(signal.SIGTERM)
    with signals.listening():
        assert len(handlers) == 2
        assert before not in handlers
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_heard_late_is_forgotten_with_the_others(monkeypatch):
    hear = signals._Listener._listen
    monkeypatch.setattr(signals._Listener, "_listen", lambda self: (time.sleep(0.3), hear(self)))
    with contextlib.suppress(KeyboardInterrupt), signals.listening():
        ctrl_c()
    time.sleep(0.4)
    assert interrupts.requested() is None


def test_an_interruption_before_the_command_begins_is_one_line():
    code = """
from firstlight.cli import _entry as entry

def main():
    raise KeyboardInterrupt

entry.main = main
entry.command()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == exits.INTERRUPTED
    assert done.stderr.strip() == "interrupted: nothing was left half done; run the same command again"


def test_what_to_do_next_is_true_with_force_and_without_resume(cli, spec, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "run", stop)
    monkeypatch.setattr(runs, "saved_step", lambda store, spec: 7)
    stored = "the run is stored up to epoch 7 in .firstlight/store.sqlite; the same command"
    assert f"{stored} continues it" in cli("run", spec).err
    assert f"{stored} without --no-resume continues it" in cli("run", spec, "--no-resume").err
    assert "the same command starts the run again; a finished run" in cli("run", spec, "--force").err


def test_a_checkpoint_is_seen_through_every_name_of_its_store(spec, folder):
    wanted = load_spec(spec)
    with Store(folder / "real.sqlite", "rw"):
        pass
    (folder / "link.sqlite").symlink_to("real.sqlite")
    checkpoint = folder / "real.sqlite.checkpoints" / run_id(wanted) / "lane-0.safetensors"
    checkpoint.parent.mkdir(parents=True)
    save_file({"x": np.zeros(1)}, checkpoint, {"step": "7"})
    assert runs.saved_step(folder / "link.sqlite", wanted) == runs.saved_step(folder / "real.sqlite", wanted) == 7


def test_a_signal_that_the_shell_ignores_stays_ignored():
    code = "from firstlight.cli import _signals as s; import os, signal\nwith s.listening(): os.kill(os.getpid(), 2)"
    words = ["sh", "-c", f"trap '' INT; exec {sys.executable} -c '{code}'"]
    assert subprocess.run(words, check=False).returncode == 0


def test_an_import_is_finished_before_the_interruption_is_raised(tmp_path, monkeypatch):
    """Torch aborts the process if a KeyboardInterrupt meets its import in C++."""
    body = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.3)\nis_whole = True\n"
    (tmp_path / "slow_to_import.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)

    def import_and_wait():
        with signals.listening():
            importlib.import_module("slow_to_import")
            time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        import_and_wait()
    assert sys.modules["slow_to_import"].is_whole


def test_ctrl_c_after_the_end_does_not_change_the_exit_code():
    code = "import atexit, os, signal; from firstlight.cli import _entry\n"
    code += "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT)); _entry.main = lambda: 0; _entry.command()"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.soak
def test_reproduce_never_loses_a_signal(start, folder):
    chance, took = random.Random(0), []
    for attempt in range(40):
        number = (signal.SIGINT, signal.SIGTERM)[attempt % 2]
        # A new store every four attempts: with --resume one store would soon know every verdict.
        command = start("reproduce", "--resume", "--store", f"store-{attempt // 4}.sqlite")
        time.sleep(chance.uniform(0.5, 12))  # before that the interpreter itself may still be starting
        sent = time.monotonic()
        command.signal(number, everyone=number == signal.SIGINT)
        err = command.ends(number, 120)
        took.append(time.monotonic() - sent)
        print(f"reproduce {attempt}: {number.name}, {took[-1]:.1f} s, {err.strip().splitlines()[-1]}", flush=True)
    print(f"40 of 40 ended; slowest {max(took):.1f} s, mean {sum(took) / len(took):.2f} s", flush=True)
    for path in sorted(folder.glob("store-*.sqlite")):
        with Store(path) as store:
            assert store.claims()
            assert all(not record.raised for record in store.claims())


@pytest.mark.soak
def test_a_run_and_a_sweep_interrupted_again_and_again_end_as_if_they_had_not_been(start, folder, cli):
    (folder / "run.toml").write_text(BASE.format(steps=1_500_000))
    base = BASE.format(steps=20_000).replace("[task]", "[base.task]")
    (folder / "sweep.toml").write_text("seeds = 150\n[base]\n" + base)
    chance = random.Random(1)
    for words in (["run", "run.toml"], ["sweep", "sweep.toml", "--keep-weights"]):
        cut = 0
        for attempt in range(20):
            number = (signal.SIGINT, signal.SIGTERM)[attempt % 2]
            command = start(*words, "--store", "store.sqlite")
            time.sleep(chance.uniform(0.5, 12))  # before that the interpreter itself may still be starting
            if command.process.poll() is None:
                command.signal(number, everyone=number == signal.SIGINT)
                err = command.ends(number)
                cut += 1
                print(f"{words[0]} {attempt}: {number.name}, {err.strip().splitlines()[-1]}", flush=True)
        print(f"{words[0]}: {cut} of 20 cut short, all as documented", flush=True)
        assert cli(*words, "--store", "store.sqlite").code == exits.OK
    specs = [runs.resolve(load_spec(folder / "run.toml")).spec, *load_sweep(folder / "sweep.toml").expand()]
    whole = runs.run_many(specs, store=folder / "whole.sqlite", progress="off")
    with Store(folder / "store.sqlite") as store:
        assert store.integrity_check().ok
        assert [store.get_run(spec).result_digest for spec in specs] == [record.result_digest for record in whole]
