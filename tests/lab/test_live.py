"""Streams: rows numbered from 0, replayed after a reconnection, thinned when they are long."""

import asyncio
import json
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.lab import thin, thin_rows
from firstlight.lab._client import Client
from firstlight.lab._live import MOST_ROWS, News, curve, stream
from firstlight.lab._reading import Reading
from firstlight.records import Store, run_id
from tests.lab.conftest import spec
from tests.lab.stub import COMMAND


class Quiet(Client):
    """A client that never has news of its own."""

    def __init__(self):
        self.jobs, self._listeners = {}, []

    def listen(self, listener):
        self._listeners.append(listener)

    def say(self):
        for listener in self._listeners:
            listener({})


def parsed(event):
    fields = dict(line.split(": ", 1) for line in event.strip().splitlines() if ": " in line)
    return fields.get("event"), int(fields["id"]) if "id" in fields else None, json.loads(fields.get("data", "null"))


def test_a_reconnection_replays_exactly_the_missing_rows(places):
    wanted = spec(200)

    async def take(client, reading, news, first, until_row):
        rows = []
        source = stream(client, reading, news, run_id(wanted), first)
        async for event in source:
            name, id, data = parsed(event)
            if name == "rows":
                rows += data["columns"]["step"]
                assert id == data["total"]
                if id >= until_row:
                    await source.aclose()
                    return rows, id
        return rows, first

    async def go(store):
        client, reading = Quiet(), Reading(places.store)
        news = News(client)
        with store.open_run(wanted) as run:
            for step in range(30):
                run.append(step, {"loss": 1.0 / (1 + step)})
            run.commit()
            first, number = await take(client, reading, news, 0, 30)
            for step in range(30, 50):
                run.append(step, {"loss": 0.5})
            run.commit()
            second, number = await take(client, reading, news, number, 50)
            # A tab that was away for longer, and a tab that sees the run for the first time.
            third, _ = await take(client, reading, news, 12, 50)
        assert first + second == list(range(50))
        assert third == list(range(12, 50))
        run = store.put_run(store.get_run(wanted).model_copy(update={"status": "finished"}), replace=True)
        ended, _ = await take(client, reading, news, 45, 50)
        assert ended == list(range(45, 50))
        assert news.tabs == 0
        reading.close()

    with Store(places.store, "rw") as store:
        asyncio.run(go(store))


def test_news_arrive_at_most_ten_times_a_second(places):
    async def go():
        client, reading = Quiet(), Reading(places.store)
        news, times = News(client), []
        source = stream(client, reading, news, "", 0)
        await anext(source)
        for number in range(6):
            client.jobs = {"a": {"id": "a", "done": number}}
            client.say()
            await anext(source)
            times.append(time.monotonic())
        await source.aclose()
        reading.close()
        assert np.diff(times).min() > 0.09

    Store(places.store, "rw").close()
    asyncio.run(go())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(8, 60))
def test_thinning_keeps_ends_extremes_and_order(values, most):
    places = thin(values, most)
    assert len(places) <= max(most, 4)
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0, len(values) - 1)
    assert min(values) == min(values[p] for p in places)
    assert max(values) == max(values[p] for p in places)


def test_a_hundred_thousand_rows_are_thinned_with_their_jump():
    step = np.arange(100_000)
    accuracy = (step > 61_234).astype(float)
    steps, columns = thin_rows(step, {"test_accuracy": accuracy, "noise": np.sin(step)})
    assert len(steps) <= 1200
    jump = int(np.flatnonzero(np.diff(columns["test_accuracy"]))[0])
    assert steps[jump] <= 61_234 < steps[jump + 1]
    assert steps[jump + 1] - steps[jump] < 1000


@pytest.mark.parametrize("gap", [float("nan"), float("inf")])
def test_gaps_are_null_for_browsers(gap):
    rows = [(step, {"loss": gap if step == 1 else 1.0, "array": np.zeros(2)}) for step in range(3)]
    assert curve(rows, 100) == {"step": [0, 1, 2], "loss": [1.0, None, 1.0]}


def test_a_long_stretch_of_rows_is_one_thinned_event():
    rows = [(step, {"train_loss": 1.0 / (1 + step)}) for step in range(50_000)]
    assert len(curve(rows, MOST_ROWS)["step"]) <= MOST_ROWS


def test_ctrl_c_ends_the_server_in_order_while_a_tab_is_open(tmp_path):
    command = [*COMMAND, "serve", str(tmp_path / "store.sqlite")]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    server = subprocess.Popen(command, cwd=Path(__file__).parents[2], **options)
    url = server.stdout.readline().split()[-1].rstrip("/")
    with urllib.request.urlopen(f"{url}/events", timeout=60) as tab:
        assert tab.readline() == b"retry: 500\n"
        server.send_signal(signal.SIGINT)
        words, _ = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "stopping at a checkpoint" in words
    assert "Traceback" not in words
    assert "ERROR" not in words
