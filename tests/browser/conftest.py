"""A lab and a browser: Debian's chromium through selenium, which may reach loopback only."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

DRIVER, BROWSER = "/usr/bin/chromedriver", "/usr/bin/chromium"
SHOTS = os.environ.get("FIRSTLIGHT_SCREENSHOTS")
PATIENCE = 120.0
"""Seconds that a page may take on a loaded machine: it ends a wait that is in vain and is no target."""


def pytest_collection_modifyitems(items):
    missing = [path for path in (DRIVER, BROWSER) if not Path(path).exists()]
    missing += [name for name in ("selenium", "axe_playwright_python", "starlette") if find_spec(name) is None]
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("timeout") is None:
                # Several waits in a row, and the fixtures that train the runs to be shown, on a loaded machine.
                item.add_marker(pytest.mark.timeout(1200))
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"no real browser: {', '.join(missing)} missing"))


class RunningLab:
    """A server of `firstlight lab` on a store of its own."""

    def __init__(self, folder):
        self.folder, self.store, self.tables = folder, folder / "store.sqlite", folder / "tables"
        self.tables.mkdir()
        self.start()

    def start(self, *words):
        command = [sys.executable, "-m", "firstlight.cli", "lab", "--no-browser", "--store", str(self.store)]
        command += ["--folder", str(self.tables), *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder
        )
        line = self.process.stdout.readline()
        assert "http://127.0.0.1:" in line, line
        self.url = line.split()[-1].rstrip("/")

    @property
    def recorder(self):
        return json.loads((self.folder / "store.sqlite.recorder.json").read_text())["pid"]

    def stop_jobs(self, seconds=2 * PATIENCE):
        """Stop every job, so that what a failed test leaves behind does not keep the worker from the next test."""
        if self.process.poll() is not None:
            self.start()
        end = time.monotonic() + seconds
        while active := [job for job in self.jobs() if job["state"] in ("queued", "running", "paused")]:
            assert time.monotonic() < end, f"jobs did not stop in {seconds} s: {active}"
            for job in active:
                self.ask("/api/jobs", {"id": job["id"], "action": "stop"})
            time.sleep(0.2)

    def jobs(self):
        """Return the jobs as a tab sees them: the first event of its stream."""
        with urllib.request.urlopen(f"{self.url}/events", timeout=30) as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])

    def ask(self, path, body):
        with urllib.request.urlopen(f"{self.url}/token", timeout=30) as answer:
            token = answer.read().decode()
        headers = {"content-type": "application/json", "origin": self.url, "x-firstlight-token": token}
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers)
        with contextlib.suppress(urllib.error.HTTPError):  # a job that ended in between
            urllib.request.urlopen(request, timeout=30).close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
            return
        self.process.kill()


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    running = RunningLab(tmp_path_factory.mktemp("lab"))
    yield running
    running.stop()


class Page:
    """A tab: short words for what the tests do often."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, url):
        self.driver.get(url)
        return self

    def js(self, code, *values):
        return self.driver.execute_script(code, *values)

    def until(self, code, seconds=PATIENCE):
        """Wait until the JavaScript expression is true, and return its value."""
        end = time.monotonic() + seconds
        while not (value := self.js(f"return {code}")):
            assert time.monotonic() < end, f"waited {seconds} s for {code}"
            time.sleep(0.05)
        return value

    def ready(self):
        self.until("document.body.dataset.ready === 'yes'")
        return self

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def click(self, selector):
        """Click as a user does: when the control is there and can be used."""
        from selenium.common.exceptions import StaleElementReferenceException

        there = "((e) => e !== null && e.checkVisibility() && !e.disabled)"
        self.until(f"{there}(document.querySelector({json.dumps(selector)}))")
        scroll = "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})"
        for attempt in range(6):
            try:
                self.js(scroll, selector)
                self.driver.find_element("css selector", selector).click()
                return
            except StaleElementReferenceException:  # its list was drawn again in between
                if attempt == 5:
                    raise
                time.sleep(0.2)

    def set(self, name, value):
        self.js(
            "const c = document.querySelector(`[name=${arguments[0]}]`); c.value = arguments[1];"
            "c.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            value,
        )

    def look(self, *, width=1280, dark=False):
        """Show the page as on a screen of this width, in light or dark colours."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = "matchMedia('(prefers-color-scheme: dark)').matches"
        self.until(f"window.innerWidth === {width} && {scheme} === {str(dark).lower()}")

    def fits(self, width):
        """Wait until nothing on the page is wider than the screen: charts follow its width a moment later."""
        self.until(f"document.documentElement.scrollWidth <= {width}")

    def shot(self, name):
        """Save the whole page as a picture, if a folder is given by FIRSTLIGHT_SCREENSHOTS."""
        if not SHOTS:
            return
        import base64

        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        (Path(SHOTS) / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))

    def violations(self):
        """Return what axe-core finds, one line each."""
        import axe_playwright_python

        script = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
        self.js(script)
        outcome = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];axe.run().then(done, (error) => done({error: String(error)}))"
        )
        assert "error" not in outcome, outcome
        return [
            f"{found['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
            for found in outcome["violations"]
            for node in found["nodes"][:3]
        ]

    def addresses(self):
        """Return the address of every request since the last call."""
        entries = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def errors(self):
        """Return what the browser reports as severe since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


def make_driver():
    os.environ["SE_OFFLINE"] = "true"
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000",
        "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
    ):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(120)
    return driver


@pytest.fixture(scope="session")
def drivers():
    """A function that starts a browser; all of them end with the session."""
    started = []

    def start():
        started.append(make_driver())
        return started[-1]

    yield start
    for driver in started:
        driver.quit()


@pytest.fixture(scope="session")
def only_driver(drivers):
    return drivers()


@pytest.fixture
def page(lab, only_driver):
    """A page whose every request must stay on loopback, and whose console must stay free of errors."""
    page = Page(only_driver)
    page.open("about:blank")  # the page of the last test may still look for its server
    page.addresses(), page.errors()
    page.look()
    yield page
    lab.stop_jobs()
    outside = [a for a in page.addresses() if not is_inside(a)]
    assert not outside, f"requests left loopback: {outside}"


def is_inside(address):
    parts = urlsplit(address)
    return parts.scheme in ("data", "blob", "about", "chrome") or parts.hostname in ("127.0.0.1", "localhost")


def chromium_is_here():
    return shutil.which("chromium") is not None
