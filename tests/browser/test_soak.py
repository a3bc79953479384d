"""An hour's run: the memory of server, recorder and page stays level while rows arrive all the time.

`FIRSTLIGHT_SOAK_SECONDS` shortens the hour. The worker is a stub that records fifty rows a second without JAX, far more
than the page's own runs: server, recorder, store, stream and page are the real ones.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

SECONDS = float(os.environ.get("FIRSTLIGHT_SOAK_SECONDS", "3600"))
pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS + 900)]


POINTS = "return Math.max(...Bokeh.documents.map((d) => d.get_model_by_name('now')?.data.step.length ?? 0))"


def resident(pid):
    """Return the resident memory of a process in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {pid} has no resident memory")


def page_memory(page):
    """Return the page's heap in megabytes after a collection of garbage, and its number of nodes."""
    page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    used = page.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"] / 2**20
    return used, page.driver.execute_cdp_cmd("Memory.getDOMCounters", {})["nodes"]


def growth(samples):
    """Return the middle of the last quarter less that of the second, when everything has warmed up."""
    quarter = max(1, len(samples) // 4)
    return float(np.median(samples[-quarter:]) - np.median(samples[quarter : 2 * quarter]))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_stays_level_over_an_hours_run(page, tmp_path):
    from tests.browser.conftest import is_inside
    from tests.lab.stub import COMMAND

    command = [*COMMAND, "serve", str(tmp_path / "store.sqlite")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        url = server.stdout.readline().split()[-1].rstrip("/")
        page.open(f"{url}/grok?group=Z5&width=4&steps=200000&seed=1").ready()
        page.until("!document.querySelector('#train').disabled")
        page.click("#train")
        page.until("document.body.dataset.rows > 20")
        recorder = json.loads((tmp_path / "store.sqlite.recorder.json").read_text())["pid"]
        samples, start = [], time.monotonic()
        while time.monotonic() - start < SECONDS:
            time.sleep(max(2.0, SECONDS / 120))
            heap, nodes = page_memory(page)
            rows = int(page.js("return document.body.dataset.rows"))
            points = page.js(POINTS)
            samples.append((resident(server.pid), resident(recorder), heap, nodes, rows, points))
            # The driver keeps a log of every request, which is not the page's.
            assert all(is_inside(address) for address in page.addresses())
        numbers = np.array(samples)
        names = ("server MB", "recorder MB", "page MB", "page nodes")
        for place, name in enumerate(names):
            column = numbers[:, place]
            print(f"{name}: {column[0]:.1f} at first, {column[-1]:.1f} at the end, growth {growth(column):+.2f}")
        rate = (numbers[-1, 4] - numbers[0, 4]) / SECONDS
        print(f"{numbers[-1, 4]:.0f} rows, {rate:.0f} a second, at most {numbers[:, 5].max():.0f} points drawn")
        assert np.all(np.diff(numbers[:, 4]) >= 0)
        assert rate > 1
        assert numbers[:, 5].max() <= 3600  # what is drawn stays bounded
        # Allocators breathe by a few megabytes; a leak of one kilobyte a row would be 90 MB between the quarters.
        assert growth(numbers[:, 0]) <= 0.1 * numbers[0, 0] + 8
        assert growth(numbers[:, 1]) <= 0.1 * numbers[0, 1] + 8
        assert growth(numbers[:, 2]) <= 0.25 * numbers[0, 2] + 8
        assert growth(numbers[:, 3]) <= 0.1 * numbers[0, 3] + 500
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
