import asyncio
import contextlib
import os
import signal
import time

import pytest
from starlette.testclient import TestClient

from firstlight.lab._app import application
from firstlight.lab._client import Client
from firstlight.lab._errors import LabError
from firstlight.lab._places import Places, read_address
from firstlight.lab._reading import Reading
from firstlight.records import Store, spec_from_mapping
from tests.lab.stub import COMMAND

TOKEN = "the-token"
HEADERS = {"origin": "http://127.0.0.1:8765", "x-firstlight-token": TOKEN, "content-type": "application/json"}


@pytest.fixture
def places(tmp_path):
    places = Places(tmp_path / "store.sqlite")
    yield places
    address = read_address(places.address)
    if address:
        with contextlib.suppress(ProcessLookupError):
            os.kill(address["pid"], signal.SIGKILL)


@pytest.fixture
def connect(places):
    """A function that connects a client whose recorder trains without JAX."""

    async def connect(**about):
        client = Client(places, about or {"url": "http://127.0.0.1:1/", "pid": 1}, 1.0, (*COMMAND, "recorder"))
        await client.connect()
        return client

    return connect


async def until(condition, seconds=20.0):
    """Wait until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.02)


def spec(steps=60, **changes):
    return spec_from_mapping({"task": {"group": "Z5"}, "model": {"width": 4}, "steps": steps,
                              "recording": {"every": 1}, **changes})  # fmt: skip


async def submit(client, wanted):
    from firstlight.records import run_id

    id = run_id(wanted)
    await client.submit(id, "run", "a run", {"spec": wanted.model_dump(mode="json")})
    return id


class Silent(Client):
    """A client whose recorder answers every setting with what it was asked."""

    def __init__(self, places):
        self.places, self.jobs, self.asked = places, {}, []

    def listen(self, listener):
        pass

    async def ask(self, what, given):
        self.asked.append(given)
        if what == "reasons":
            return {"cogo": "it needs an Abelian group, and S3 is not one"}
        if given["form"].get("group") == "broken":
            raise LabError("the worker is away")
        return {"problems": {"group": f"unknown group {given['form'].get('group')}"}}

    async def control(self, id, action):
        raise LabError("no such job")


@pytest.fixture
def browser(places):
    Store(places.store, "rw").close()
    reading = Reading(places.store)
    client = TestClient(application(Silent(places), reading, TOKEN), base_url="http://127.0.0.1:8765")
    yield client
    reading.close()
