"""The phase atlas without a browser: forms of sweeps, the worker's duty, the recorder, the pages."""

import asyncio
import json
import os
import signal
import threading
import time

import pytest
from starlette.testclient import TestClient

from firstlight.lab._app import application
from firstlight.lab._form import FormError
from firstlight.lab._map import atlas, cost, plain_sweep, planned_sweep
from firstlight.lab._outcomes import unpack_runs
from firstlight.lab._places import read_address
from firstlight.lab._reading import Reading
from firstlight.lab._sweep_form import MOST_POINTS, default_sweep, sweep_of
from firstlight.lab._sweeping import train_points
from firstlight.lab._worker import Channel, Control
from firstlight.records import Store, run_id
from tests.lab.conftest import HEADERS, TOKEN, Silent, spec, submit, until

SMALL = {"group": "Z5", "fraction": "0.4, 0.8", "decay": "0, 0.0001, 0.001", "width": "8", "steps": "10", "seeds": "2"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.3", [0.3]),
        ("0.3, 0.5,0.3", [0.3, 0.5]),
        ("0.2 to 0.8 in 4", [0.2, 0.4, 0.6, 0.8]),
        ("0.01 to 0.1 in 3 log", [0.01, 0.0316228, 0.1]),
    ],
)
def test_lists_and_ranges_of_values(text, values):
    assert sweep_of({"fraction": text}).grid["task.split.fraction"] == values


@pytest.mark.parametrize(
    ("control", "value", "words"),
    [
        ("fraction", "1.2", "between 0 and 1"),
        ("fraction", "0.5 to 0.2 in 3", "low below high"),
        ("decay", "0 to 1 in 3 log", "begins above 0"),
        ("decay", "lots", "must be a number"),
        ("width", "0", "at least 1"),
        ("rate", "0", "more than 0"),
        ("seeds", "0", "at least 1"),
        ("seeds", "1000", "at most 100"),
        ("steps", "1e9", "whole"),
        ("group", ", ,", "names of groups"),
        ("group", "Q7", "quaternion"),
    ],
)
def test_a_message_names_the_control_that_is_wrong(control, value, words):
    answer = cost({"form": {**SMALL, control: value}, "store": "", "data": ""})
    assert list(answer["problems"]) == [control]
    assert words in answer["problems"][control]


def test_a_million_points_are_refused_beside_the_longest_list_at_once():
    form = {"fraction": "0.1 to 0.9 in 20", "decay": "1e-6 to 1 in 50000 log", "seeds": "1"}
    with pytest.raises(FormError, match=r"decay: 1,000,000 points \(20 × 50000 × 1 seed\) are too many"):
        sweep_of(form)
    with pytest.raises(FormError, match="too many"):
        sweep_of({"fraction": "0.1 to 0.9 in 999999999999"})
    assert sweep_of(default_sweep()).points <= MOST_POINTS


def test_the_cost_counts_points_programs_and_what_the_store_has(tmp_path):
    answer = cost({"form": SMALL, "store": "", "data": ""})
    assert (answer["points"], answer["left"], answer["programs"]) == (12, 12, 2)
    assert answer["core_hours"] > 0
    assert answer["bytes"] > 0
    assert not answer["asks"]
    assert cost({"form": {**SMALL, "steps": "200000", "width": "4096"}, "store": "", "data": ""})["asks"]
    same = cost({"form": {**SMALL, "fraction": "0.8, 0.4"}, "store": "", "data": ""})
    assert same["id"] == answer["id"]


class Mail(Channel):
    """A channel that writes into the store as the recorder would, and stops the duty after some batches."""

    def __init__(self, store, control=None, most=None):
        self.store, self.control, self.most, self.sent = store, control, most, []

    def send(self, message, arrays=None):
        self.sent.append(message)
        if message["event"] != "points":
            return
        with Store(self.store, "rw") as store:
            store.put_runs([(record, {}) for record in unpack_runs(message["points"], arrays)])
        if self.most is not None and sum(m["event"] == "points" for m in self.sent) == self.most:
            self.control.obey("stop")

    @property
    def trained(self):
        return [point["record"]["spec"] for m in self.sent if m["event"] == "points" for point in m["points"]]


def job_of(sweep, store, id="sweep:0a"):
    """The message that the recorder sends for a sweep."""
    return {"id": id, "payload": {"sweep": plain_sweep(sweep)}, "store": str(store), "data": str(store.parent)}


def test_a_stopped_sweep_resumes_without_repeating_a_finished_point(tmp_path):
    path = tmp_path / "s.sqlite"
    Store(path, "rw").close()
    sweep = planned_sweep(SMALL)
    message = job_of(sweep, path)
    mail = Mail(path)
    mail.control, mail.most = Control(mail), 2
    train_points(message, mail, mail.control)
    mail.control.reset()
    first = len(mail.trained)
    assert 0 < first < 12
    assert mail.sent[-1]["state"] == "stopped"
    assert f"{first} of 12 points are in the store" in mail.sent[-1]["message"]
    again = Mail(path)
    train_points(message, again, Control(again))
    assert len(again.trained) == 12 - first
    seen = {json.dumps(point, sort_keys=True) for point in [*mail.trained, *again.trained]}
    assert len(seen) == 12
    assert again.sent[-1]["state"] == "finished"
    progress = [message["done"] for message in again.sent if "done" in message]
    assert progress[0] == first
    assert progress[-1] == 12
    with Store(path) as store:
        assert all(store.run_status(point) == "finished" for point in sweep.expand())
    assert not (tmp_path / "s.sqlite.checkpoints").exists()
    once_more = Mail(path)
    train_points(message, once_more, Control(once_more))
    assert not once_more.trained


def test_a_sweep_leaves_the_checkpoints_of_another_alone(tmp_path):
    path = tmp_path / "s.sqlite"
    Store(path, "rw").close()
    long = planned_sweep({**SMALL, "group": "Z23", "width": "64", "steps": "100000", "decay": "0", "fraction": "0.2"})
    mail = Mail(path)
    control = Control(mail)
    folder = tmp_path / "s.sqlite.checkpoints" / "sweep-0a"

    def stop_in_the_middle():
        end = time.monotonic() + 60
        while not (folder.exists() and any(folder.iterdir())) and time.monotonic() < end:
            time.sleep(0.05)
        control.obey("stop")

    watcher = threading.Thread(target=stop_in_the_middle)
    watcher.start()
    train_points(job_of(long, path), mail, control)
    watcher.join()
    control.reset()
    assert mail.sent[-1]["state"] == "stopped"
    assert not mail.trained
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert any(file.suffix == ".safetensors" for file in before)
    other = Mail(path)
    train_points(job_of(planned_sweep(SMALL), path, "sweep:0b"), other, Control(other))
    assert other.sent[-1]["state"] == "finished"
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert [child.name for child in folder.parent.iterdir()] == ["sweep-0a"]


def test_the_map_shows_planned_cells_before_their_runs_and_other_axes_as_menus(tmp_path):
    path = tmp_path / "s.sqlite"
    Store(path, "rw").close()
    question = {"store": str(path), "map": "", "x": "", "y": "", "fixed": {}, "planned": []}
    assert atlas(question) == {"families": [], "record": None}
    sweep = planned_sweep({**SMALL, "width": "8, 16"})
    answer = atlas(question | {"planned": [plain_sweep(sweep)]})
    (family,) = answer["families"]
    assert (family["runs"], family["ended"]) == (24, 0)
    record = json.loads(answer["record"])
    assert (answer["x"], answer["y"]) == ("decay", "fraction")
    assert [cell["missing"] for cell in record["cells"]] == [4] * 6
    assert answer["others"] == {"width": [["8", "8"], ["16", "16"]]}
    one = atlas(question | {"planned": [plain_sweep(sweep)], "fixed": {"width": "16"}, "x": "rate", "y": "decay"})
    assert (one["x"], one["y"], one["fixed"]) == ("rate", "decay", {"width": "16"})
    gone = atlas(question | {"planned": [plain_sweep(sweep)], "fixed": {"width": "17"}, "x": "decay", "y": "decay"})
    assert (gone["x"], gone["y"], gone["fixed"]) == ("decay", "fraction", {})


# ---- the recorder, with a worker without JAX


def points(count):
    return [spec(5, seed=seed) for seed in range(count)]


def payload(specs, **extra):
    return {"specs": [s.model_dump(mode="json") for s in specs], **extra}


def ended(places):
    with Store(places.store) as store:
        return len(store.run_ids("finished"))


def test_points_are_in_the_store_as_soon_as_their_batch_has_ended(places, connect):
    async def go():
        client = await connect()
        await client.submit("sweep:a", "sweep", "a sweep", payload(points(12)))
        await until(lambda: client.jobs["sweep:a"]["done"] >= 4)
        assert 4 <= ended(places) <= 12
        await client.control("sweep:a", "stop")
        await until(lambda: client.jobs["sweep:a"]["state"] in ("stopped", "finished"))
        assert ended(places) == client.jobs["sweep:a"]["done"]
        await client.control("sweep:a", "resume")
        await until(lambda: client.jobs["sweep:a"]["state"] == "finished")
        assert ended(places) == 12
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_run_of_the_page_does_not_wait_for_a_sweep(places, connect):
    async def go():
        client = await connect()
        await client.submit("sweep:a", "sweep", "a sweep", payload(points(60)))
        await until(lambda: client.jobs["sweep:a"]["done"] >= 2)
        id = await submit(client, spec(30, seed=99))
        await until(lambda: client.jobs[id]["state"] == "running")
        assert client.jobs["sweep:a"]["state"] == "running"
        await until(lambda: client.jobs[id]["state"] == "finished")
        await until(lambda: client.jobs["sweep:a"]["state"] == "finished", 60)
        with Store(places.store) as store:
            assert [step for step, _ in store.rows_from(id)] == list(range(31))
        assert ended(places) == 61
        again = await submit(client, spec(200, seed=98))  # a sweep that ends leaves the rows of a run alone
        await client.submit("sweep:b", "sweep", "another", payload(points(62)))
        await until(lambda: client.jobs["sweep:b"]["state"] == "finished")
        await until(lambda: client.jobs[again]["state"] == "finished", 60)
        with Store(places.store) as store:
            assert [step for step, _ in store.rows_from(again)] == list(range(201))
        await client.end(keep_running=False)

    asyncio.run(go())


def test_the_worker_of_sweeps_starts_with_one_and_ends_after_the_last(places, connect):
    from pathlib import Path

    def workers(pid):
        return len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())

    async def go():
        client = await connect()
        pid = read_address(places.address)["pid"]
        await until(lambda: workers(pid) == 2)
        await client.submit("sweep:a", "sweep", "a sweep", payload(points(40)))
        await until(lambda: client.jobs["sweep:a"]["state"] == "running")
        assert workers(pid) == 3
        await until(lambda: client.jobs["sweep:a"]["state"] == "finished", 60)
        await until(lambda: workers(pid) == 2)
        await client.end(keep_running=False)

    if not Path("/proc/self/task").exists():
        pytest.skip("child processes are counted in /proc")
    asyncio.run(go())


def test_a_removed_sweep_leaves_no_checkpoints(places, connect):
    async def go():
        client = await connect()
        await client.submit("sweep:a", "sweep", "a sweep", payload(points(400)))
        await until(lambda: client.jobs["sweep:a"]["done"] >= 2)
        folder = places.sweep_checkpoint("sweep:a")
        folder.mkdir(parents=True)
        await client.control("sweep:a", "stop")
        await until(lambda: client.jobs["sweep:a"]["state"] == "stopped")
        assert folder.exists()
        await client.control("sweep:a", "remove")
        await until(lambda: not folder.exists())
        await client.end(keep_running=False)

    asyncio.run(go())


def test_a_killed_recorder_loses_no_ended_point(places, connect):
    async def go():
        client = await connect()
        await client.submit("sweep:a", "sweep", "a sweep", payload(points(20)))
        await until(lambda: client.jobs["sweep:a"]["done"] >= 4)
        first = read_address(places.address)["pid"]
        os.kill(first, signal.SIGKILL)
        await until(lambda: (read_address(places.address) or {}).get("pid") not in (None, first), 60)
        await until(lambda: client.jobs.get("sweep:a", {}).get("state") == "finished", 60)
        assert ended(places) == 20
        await client.end(keep_running=False)

    asyncio.run(go())


def test_points_that_the_store_refuses_stop_the_sweep_with_the_reason(places, connect):
    async def go():
        client = await connect()
        await client.submit("sweep:a", "sweep", "a sweep", payload(points(40), broken=True))
        await until(lambda: client.jobs["sweep:a"]["state"] == "failed", 60)
        assert "the store refused a point" in client.jobs["sweep:a"]["message"]
        assert ended(places) == 0
        await client.end(keep_running=False)

    asyncio.run(go())


# ---- the pages


class Desk(Silent):
    """A client whose answers come from this process."""

    def __init__(self, places):
        super().__init__(places)
        self.submitted = []

    async def ask(self, what, given):
        return {"atlas": atlas, "sweep": cost}[what](given)

    async def submit(self, id, kind, title, payload):
        self.submitted.append((id, kind, payload))
        return {"id": id, "kind": kind, "state": "queued"}


@pytest.fixture
def desk(places):
    Store(places.store, "rw").close()
    reading, client = Reading(places.store), Desk(places)
    browser = TestClient(application(client, reading, TOKEN), base_url="http://127.0.0.1:8765")
    browser.desk = client
    yield browser
    reading.close()


def send(browser, body):
    return browser.post("/api/atlas", content=json.dumps(body), headers=HEADERS)


def test_the_page_holds_the_form_of_its_address_as_text(desk):
    page = desk.get("/atlas", params={"fraction": "<b>0.1</b>", "group": "S4"}).text
    assert "&lt;b&gt;0.1" in page
    assert 'value="S4"' in page
    assert "<script>" not in page


def test_a_sweep_is_submitted_once_its_form_is_right_and_its_cost_confirmed(desk):
    assert send(desk, {"form": {**SMALL, "fraction": "2"}}).status_code == 422
    assert send(desk, {}).status_code == 409
    expensive = {**SMALL, "steps": "200000", "width": "4096"}
    asked = send(desk, {"form": expensive})
    assert (asked.status_code, asked.json()["asks"]) == (409, True)
    assert not desk.desk.submitted
    assert send(desk, {"form": expensive, "sure": True}).status_code == 200
    answer = send(desk, {"form": SMALL}).json()
    assert answer["state"] == "queued"
    (_, _, sent) = desk.desk.submitted[-1]
    assert desk.desk.submitted[-1][:2] == (answer["id"], "sweep")
    assert sent["sweep"]["seeds"] == [0, 1]
    assert desk.get("/api/atlas/estimate", params=SMALL).json()["left"] == 12


def test_the_map_its_cells_and_its_export(desk, places):
    assert desk.get("/api/atlas").json() == {"families": [], "record": None}
    assert desk.get("/api/atlas/export").status_code == 409
    mail = Mail(places.store)
    sweep = planned_sweep(SMALL)
    train_points(job_of(sweep, places.store), mail, Control(mail))
    answer = desk.get("/api/atlas").json()
    record = answer["record"]
    assert [cell["ended"] for cell in record["cells"]] == [2] * 6
    assert record["x"]["names"] == ["0", "10⁻⁴", "0.001"]
    assert answer["table"].count("<tr>") == 7
    ids = record["cells"][0]["runs"]
    cell = desk.get("/api/atlas/cell", params={"ids": ",".join(ids)}).text
    assert cell.count("Export") == 2
    assert "<svg" in cell
    assert "Numbers: " in cell
    assert "/grok?group=Z5&amp;fraction=0.4" in cell
    assert desk.get("/api/atlas/cell", params={"ids": "../x"}).status_code == 400
    assert desk.get("/api/atlas/cell", params={"ids": "0" * 64}).status_code == 404
    page = desk.get("/api/atlas/export", params={"x": "decay", "y": "fraction"})
    assert "attachment" in page.headers["content-disposition"]
    assert "complete in itself" in page.text
    assert "<svg" in page.text
    assert "src=" not in page.text.split("<main>")[0]
    for value in ("0.4", "0.8"):  # the ticks are the values of the cells, and the words of the axes stand in the SVG
        assert f">{value}</text>" in page.text or f"<!-- {value} -->" in page.text


def test_run_ids_are_stable_between_form_and_worker():
    sweep = planned_sweep(SMALL)
    from firstlight.sweeps import sweep_from_mapping

    again = sweep_from_mapping(json.loads(json.dumps(plain_sweep(sweep))))
    assert list(map(run_id, again.expand())) == list(map(run_id, sweep.expand()))
