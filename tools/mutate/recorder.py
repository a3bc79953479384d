"""pytest plugin that records the lines of the package that each test executes, and its processor time.

A fixture shared by several tests runs once; its lines count for every test that uses it.
"""

import json
import os
import time

import pytest
from coverage import Coverage

from tools.mutate.recording import OUTPUT, SOURCE


class Recorder:
    def __init__(self) -> None:
        self.coverage = Coverage(data_file=None, config_file=False, source=[os.environ[SOURCE]])
        self.seconds: dict[str, float] = {}
        self.shared: dict[str, list[str]] = {}
        self.context = ""
        self.coverage.start()

    def switch(self, context: str) -> str:
        before, self.context = self.context, context
        self.coverage.switch_context(context)
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        self.shared[item.nodeid] = [_name(d[-1]) for d in definitions.values() if d and d[-1].scope != "function"]
        start, before = time.process_time(), self.switch(item.nodeid)
        result = yield
        self.switch(before)
        self.seconds[item.nodeid] = time.process_time() - start
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        before = self.switch(_name(fixturedef))
        try:
            return (yield)
        finally:
            self.switch(before)

    def pytest_sessionfinish(self):
        self.coverage.stop()
        lines: dict[str, dict[str, list[int]]] = {}
        data = self.coverage.get_data()
        for path in data.measured_files():
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in filter(None, contexts):
                    lines.setdefault(context, {}).setdefault(path, []).append(line)
        record = {"seconds": self.seconds, "shared": self.shared, "lines": lines}
        with open(os.environ[OUTPUT], "w", encoding="utf-8") as file:
            json.dump(record, file)


def _name(fixture) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


def pytest_configure(config) -> None:
    config.pluginmanager.register(Recorder(), "firstlight-mutate-recorder")
