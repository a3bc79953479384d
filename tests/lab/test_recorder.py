"""The recorder: one writer per store, rows of all workers, adoption, kill -9."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from firstlight.lab import LabError
from firstlight.lab._hands import Hand
from firstlight.lab._places import read_address
from firstlight.records import Store, StoreError, run_id
from tests.lab.conftest import spec, submit, until


def steps_of(places, id):
    with Store(places.store) as store:
        return [step for step, _ in store.rows_from(id)]


def test_rows_are_written_while_the_run_goes_on_and_the_record_at_its_end(places, connect):
    async def go():
        client = await connect()
        id = await submit(client, spec())
        await until(lambda: client.jobs[id]["done"] >= 10)
        during = steps_of(places, id)
        assert during == list(range(len(during)))
        assert len(during) >= 5
        await until(lambda: client.jobs[id]["state"] == "finished")
        with Store(places.store) as store:
            record = store.get_run(id)
            assert record.status == "finished"
            assert list(record.table.step) == list(range(61))
            assert record.table["extra"].shape == (61, 3)
            assert store.weights(id)["W"].shape == (2, 2)
        await client.end(keep_running=False)

    asyncio.run(go())
    assert not places.address.exists()


def test_jobs_wait_for_each_other_and_the_same_run_is_queued_once(connect):
    async def go():
        client = await connect()
        first, second = await submit(client, spec(30)), await submit(client, spec(31))
        assert await submit(client, spec(30)) == first
        assert list(client.jobs) == [first, second]
        await until(lambda: client.jobs[first]["state"] == "running")
        assert client.jobs[second]["state"] == "queued"
        await until(lambda: all(job["state"] == "finished" for job in client.jobs.values()))
        await client.end(keep_running=False)

    asyncio.run(go())


def test_pause_holds_resume_goes_on_stop_can_be_resumed(places, connect):
    async def go():
        client = await connect()
        id = await submit(client, spec(80))
        await until(lambda: client.jobs[id]["done"] >= 5)
        await client.control(id, "pause")
        await until(lambda: client.jobs[id]["state"] == "paused")
        held = client.jobs[id]["done"]
        await asyncio.sleep(0.3)
        assert client.jobs[id]["done"] == held
        await client.control(id, "resume")
        await until(lambda: client.jobs[id]["done"] > held)
        await client.control(id, "stop")
        await until(lambda: client.jobs[id]["state"] == "stopped")
        stopped = steps_of(places, id)
        assert stopped == list(range(len(stopped)))
        assert len(stopped) < 81
        await client.control(id, "resume")
        await until(lambda: client.jobs[id]["state"] == "finished")
        assert steps_of(places, id) == list(range(81))
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_removed_job_stays_away_and_a_running_one_must_be_stopped_first(connect):
    async def go():
        client = await connect()
        id, later = await submit(client, spec(200)), await submit(client, spec(20))
        await until(lambda: client.jobs[id]["state"] == "running")
        with pytest.raises(LabError, match="stop it before"):
            await client.control(id, "remove")
        await client.control(id, "stop")
        await until(lambda: client.jobs[id]["state"] == "stopped")
        await client.control(id, "remove")
        await until(lambda: client.jobs[later]["state"] == "finished")
        assert list(client.jobs) == [later]
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_stop_right_after_the_start_is_not_forgotten(connect):
    async def go():
        client = await connect()
        ids = [await submit(client, spec(steps)) for steps in range(2000, 2005)]
        for id in ids:
            await until(lambda id=id: client.jobs[id]["state"] == "running")
            await client.control(id, "stop")
        await until(lambda: all(client.jobs[id]["state"] == "stopped" for id in ids))
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_server_that_dies_leaves_the_run_going_and_the_next_adopts_it(places, connect):
    async def go():
        client = await connect()
        id = await submit(client, spec(100))
        await until(lambda: client.jobs[id]["done"] >= 5)
        pid = read_address(places.address)["pid"]
        client._closed = True
        client._writer.transport.abort()  # as if the process were killed
        await asyncio.sleep(0.2)
        again = await connect()
        assert read_address(places.address)["pid"] == pid
        assert again.jobs[id]["state"] == "running"
        await until(lambda: again.jobs[id]["state"] == "finished")
        assert steps_of(places, id) == list(range(101))
        await again.end(keep_running=False)

    asyncio.run(go())


def test_a_killed_recorder_is_started_again_and_continues_without_losing_or_repeating_a_row(places, connect):
    async def go():
        client = await connect()
        id = await submit(client, spec(100))
        await until(lambda: client.jobs[id]["done"] >= 25)
        first = read_address(places.address)["pid"]
        os.kill(first, signal.SIGKILL)
        await until(lambda: (read_address(places.address) or {}).get("pid") not in (None, first))
        await until(lambda: client.jobs.get(id, {}).get("state") == "finished", 30)
        assert steps_of(places, id) == list(range(101))
        with Store(places.store) as store:
            report = store.integrity_check()
            assert not report.database
            assert not report.records
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_checkpoint_ahead_of_the_rows_is_not_resumed(places):
    import numpy as np
    from safetensors.numpy import save_file

    from firstlight.lab._writer import Writer

    wanted = spec(50)
    with Store(places.store, "rw") as store:
        with store.open_run(wanted) as run:
            for step in range(5):
                run.append(step, {"loss": 1.0})
        folder = places.checkpoint(run_id(wanted))
        folder.mkdir(parents=True)
        for step, resumes in ((3, True), (20, False)):
            save_file({"x": np.zeros(1)}, folder / "lane-0-seed-0.safetensors", metadata={"step": str(step)})
            writer = Writer(store, places)
            assert writer.begin(wanted.model_dump(mode="json"))["resume"] is resumes
            writer.close()


def test_a_second_server_on_the_store_says_what_to_do(connect):
    async def go():
        client = await connect(url="http://127.0.0.1:4321/", pid=77)
        with pytest.raises(LabError, match=r"already open.*http://127.0.0.1:4321/.*process 77.*--store"):
            await connect(url="http://127.0.0.1:4322/", pid=78)
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_store_that_another_command_writes_is_refused_with_its_name(places, connect):
    with Store(places.store, "rw"), pytest.raises(LabError, match="One process writes at a time"):
        asyncio.run(connect())


def test_the_recorder_holds_the_lock_of_the_writer(places, connect):
    async def go():
        client = await connect()
        with pytest.raises(StoreError, match="One process writes at a time"):
            Store(places.store, "rw")
        await client.end(keep_running=False)
        Store(places.store, "rw").close()

    asyncio.run(go())


def test_a_recorder_without_server_and_jobs_exits(places, connect):
    async def go():
        client = await connect()
        await client.end(keep_running=True)
        await until(lambda: not places.address.exists())

    asyncio.run(go())


ENDING = """
import json, os, sys, time
from firstlight.records import Store
places = json.loads(sys.argv[1])
with Store(places["store"], "rw"):
    with open(places["address"], "w") as file:
        json.dump({"port": 9, "token": "x", "pid": os.getpid()}, file)
    print("open", flush=True)
    time.sleep(2)
os.unlink(places["address"])
"""


@pytest.mark.skipif(os.name == "nt", reason="a process is asked for its life by a signal")
def test_a_server_waits_for_a_recorder_that_is_about_to_exit(places, connect):
    """It does not listen any more, and holds the lock until its workers have ended."""
    words = json.dumps({"store": str(places.store), "address": str(places.address)})
    with subprocess.Popen([sys.executable, "-c", ENDING, words], stdout=subprocess.PIPE, text=True) as ending:
        assert ending.stdout.readline() == "open\n"

        async def go():
            client = await connect()
            assert read_address(places.address)["pid"] != ending.pid
            await client.end(keep_running=False)

        asyncio.run(go())


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="waits for the end of a process and leaves it to its parent")
def test_a_worker_is_not_dead_before_its_last_words_are_heard(tmp_path):
    """What came late would be taken for words on the next job."""
    code = (
        "import sys; from firstlight.lab._frames import encode\n"
        "for number in range(30): sys.stdout.buffer.write(encode({'event': 'rows', 'text': 'x' * 2_000}))"
    )
    heard = []

    async def go():
        def receive(message, arrays):
            if not heard:  # the store is slow to write, and the process ends meanwhile
                with contextlib.suppress(ChildProcessError):
                    os.waitid(os.P_PID, hand.pid, os.WEXITED | os.WNOWAIT)
                time.sleep(0.1)
            heard.append(hand.is_dead)

        hand = Hand("train", tmp_path / "log", receive, (sys.executable, "-c", code))
        await hand.start()
        await until(lambda: hand.is_dead and len(heard) == 30)

    asyncio.run(go())
    assert not any(heard)


def test_a_worker_that_dies_fails_its_job_and_the_next_job_runs(connect):
    async def go():
        client = await connect()
        await client.submit("claim:x", "claim", "a claim", {"claim": "x"})
        id = await submit(client, spec(20))
        await until(lambda: client.jobs["claim:x"]["state"] == "failed")
        assert "worker process ended" in client.jobs["claim:x"]["message"]
        await until(lambda: client.jobs[id]["state"] == "finished")
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_job_that_has_finished_has_done_all_of_its_work(connect):
    async def go():
        client = await connect()
        for end, done in (("finished", 1.0), ("stopped", 0.97)):
            await client.submit(f"fit:{end}", "fit", "a fit", {"end": end})
            await until(lambda end=end: client.jobs[f"fit:{end}"]["state"] == end)
            assert client.jobs[f"fit:{end}"]["done"] == done
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_wrong_word_is_not_answered(places, connect):
    async def go():
        client = await connect()
        address = read_address(places.address)
        assert places.address.stat().st_mode & 0o077 == 0
        from firstlight.lab._frames import encode, read_frame

        reader, writer = await asyncio.open_connection("127.0.0.1", address["port"])
        writer.write(encode({"n": 0, "token": "guess"}))
        assert await read_frame(reader) is None
        assert await client.ask("setting", {"x": 1}) == {"heard": {"x": 1}}
        await client.end(keep_running=False)

    asyncio.run(go())


@pytest.mark.parametrize("module", ["firstlight.lab._app", "firstlight.lab._recorder", "firstlight.lab._serve"])
def test_neither_server_nor_recorder_imports_jax_or_torch(module):
    code = f"import {module}, sys; sys.exit(bool({{'jax', 'torch', 'equinox'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
