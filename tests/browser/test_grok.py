"""Room 1 in a real browser: forecast, run, scoreboard; refreshed, killed, reopened; wrong input; keyboard; axe."""

import time

import pytest

from firstlight.records import Store
from tests.browser.conftest import PATIENCE, RunningLab
from tests.browser.machine import Share

VERDICT_SECONDS, FIRST_POINT_SECONDS = 30, 3
"""The targets of the lab, on two processors that do nothing else."""

QUICK = (
    "group=Z7&fraction=0.8&width=32&activation=quadratic&model=two_layer&optimizer=adam&rate=0.01&decay=0.001"
    "&steps={}&seed={}"
)


def rows_of(lab, id):
    with Store(lab.store) as store:
        return [step for step, _ in store.rows_from(id)]


@pytest.fixture
def fresh(tmp_path):
    """A lab that was started a moment ago: its workers still load."""
    running = RunningLab(tmp_path)
    yield running
    running.stop()


def train_at(page, address):
    """Open the page and press Train; return the seconds from opening to the verdict, and from Train to the first point.

    Both are counted as if the machine did nothing else: the wall clock times the share of the processors that other
    programs left. On an idle machine this is the wall clock.
    """
    share, start = Share(), time.monotonic()
    page.open(address).ready()
    page.until("document.querySelector('#chance').textContent.includes('%')")
    assert page.text("#chance").replace("\u00a0", " ") not in ("0 %", "100 %")  # nothing that is forecast is certain
    page.until("!document.querySelector('#train').disabled")
    pressing, pressed = Share(), time.monotonic()
    page.click("#train")
    page.until("document.body.dataset.rows > 0")
    first, early = time.monotonic() - pressed, pressing.free()
    page.until("document.body.dataset.result", 480)
    whole, free = time.monotonic() - start, share.free()
    print(f"first point {first:.1f} s after Train with {early:.0%} of the machine free")
    print(f"verdict {whole:.1f} s after opening with {free:.0%} of the machine free")
    return whole * free, first * early


def test_from_open_to_the_verdict_of_a_grokked_z23_in_a_lab_just_started(fresh, page):
    whole, _ = train_at(page, f"{fresh.url}/grok")
    assert "Expect grokking" in page.text("#forecast-story")
    assert "–" in page.text("#when-generalise")
    assert page.js("return document.querySelectorAll('#scoreboard tbody tr').length") == 5
    board = page.text("#scoreboard")
    assert "generalised at epoch" in board
    assert "within the forecast range" in board or "than the range" in board
    assert page.text("#run-state") == "finished"
    assert "Stage I" in page.text("#stages")
    points = page.js("return Bokeh.documents.map((d) => d.get_model_by_name('now')?.data.step.length ?? 0)")
    assert max(points) > 100
    assert not page.errors()
    page.shot("grok-light-1280")
    assert whole < VERDICT_SECONDS


def test_the_first_point_follows_train_at_once(lab, page):
    """The worker keeps compiled programs at hand: what counts is the second run of a lab."""
    train_at(page, f"{lab.url}/grok?{QUICK.format(40, 20)}")
    _, first = train_at(page, f"{lab.url}/grok?seed=21")
    assert first < FIRST_POINT_SECONDS


def test_a_theory_without_a_verdict_says_why(lab, page):
    page.open(f"{lab.url}/grok?{QUICK.format(40, 1).replace('Z7', 'S3')}").ready()
    page.until("!document.querySelector('#train').disabled")
    page.click("#train")
    page.until("document.body.dataset.result", 2 * PATIENCE)
    assert "needs an Abelian group, and S3 is not one." in page.text("#scoreboard")


def test_the_address_holds_the_setting_and_one_knob_overlays_the_last_run(lab, page):
    page.open(f"{lab.url}/grok?{QUICK.format(60, 1)}").ready()
    page.until("!document.querySelector('#train').disabled")
    assert page.js("return document.querySelector('[name=group]').value") == "Z7"
    page.click("#train")
    page.until("document.body.dataset.result", 2 * PATIENCE)
    first = page.js("return document.body.dataset.result")
    page.set("seed", "2")
    page.until("document.querySelector('#run-state').textContent === 'not run'")
    assert "seed=2" in page.js("return location.search")
    assert "Dotted: the run before" in page.text("#overlay-note")
    page.click("#train")
    page.until(f"document.body.dataset.result !== '{first}'", 2 * PATIENCE)
    before = page.js("return Bokeh.documents.map((d) => d.get_model_by_name('before')?.data.step.length ?? 0)")
    assert max(before) > 10
    page.driver.refresh()
    page.ready()
    page.until("document.querySelector('#run-state').textContent === 'finished'")
    page.until("document.querySelectorAll('#scoreboard tbody tr').length === 5")


def start_long_run(lab, page, seed):
    slow = QUICK.format(200000, seed).replace("width=32", "width=512").replace("Z7", "Z23")
    page.open(f"{lab.url}/grok?{slow}").ready()
    page.until("!document.querySelector('#train').disabled")
    page.click("#train")
    page.until("document.body.dataset.rows > 3")


def held_rows(lab, id):
    """Wait until the store has the last row of a paused run, which its worker sent before the pause."""
    end = time.monotonic() + PATIENCE
    while True:
        paused = next(job for job in lab.jobs() if job["id"] == id and job["state"] == "paused")
        steps = rows_of(lab, id)
        if steps and steps[-1] == paused["done"]:
            return steps
        assert time.monotonic() < end, (paused, steps[-1:])
        time.sleep(0.2)


def test_pause_stop_resume_by_the_buttons(lab, page):
    start_long_run(lab, page, seed=3)
    page.click("#pause")
    page.until("document.querySelector('#run-state').textContent === 'paused'")
    id = page.js("return document.body.dataset.started")
    held = held_rows(lab, id)
    time.sleep(2)  # what must not happen cannot be waited for
    assert rows_of(lab, id) == held
    page.click("#resume")
    page.until(f"Number(document.body.dataset.rows) > {len(held)}")
    page.click("#stop")
    page.until("document.querySelector('#run-state').textContent === 'stopped'")
    assert page.text("#train") == "Resume"


def test_a_run_names_the_job_that_it_waits_for_and_can_stop_it(lab, page):
    start_long_run(lab, page, seed=7)
    page.open(f"{lab.url}/grok?{QUICK.format(60, 8)}").ready()
    page.until("!document.querySelector('#train').disabled")
    page.click("#train")
    page.until("document.querySelector('#run-state').textContent === 'queued'")
    page.until("document.querySelector('#progress-text').textContent.includes('waits for “Z23')")
    words = page.text("#progress-text")
    assert "which runs in Grok live" in words
    page.click("#jobs li:has(.badge.running) button[aria-label^='Stop']")
    page.until("document.body.dataset.result", 2 * PATIENCE)
    assert page.text("#run-state") == "finished"


def test_a_run_does_not_wait_for_a_sweep(lab, page):
    sweep = {"group": "Z23", "fraction": "0.3, 0.5", "decay": "0", "width": "512", "steps": "100000", "seeds": "2"}
    lab.ask("/api/atlas", {"form": sweep, "sure": True})

    def running():
        return [job["id"] for job in lab.jobs() if job["kind"] == "sweep" and job["state"] == "running"]

    deadline = time.monotonic() + 2 * PATIENCE
    while not running():
        assert time.monotonic() < deadline, lab.jobs()
        time.sleep(0.5)
    started = running()
    page.open(f"{lab.url}/grok?{QUICK.format(60, 9)}").ready()
    page.until("!document.querySelector('#train').disabled")
    page.click("#train")
    page.until("document.body.dataset.result", 2 * PATIENCE)
    assert running() == started


def test_refresh_close_kill_and_reopen_lose_no_row_and_repeat_none(lab, page):
    address = f"/grok?{QUICK.format(60000, 4)}"
    page.open(lab.url + address).ready()
    page.until("!document.querySelector('#train').disabled")
    page.click("#train")
    page.until("document.body.dataset.rows > 5")
    id = page.js("return document.body.dataset.started")
    page.driver.refresh()
    page.ready()
    page.until("['running', 'finished'].includes(document.querySelector('#run-state').textContent)")
    recorder = lab.recorder
    lab.kill()
    page.open("about:blank")
    lab.start()
    assert lab.recorder == recorder  # adopted
    page.open(lab.url + address).ready()
    page.until("document.body.dataset.result", 2 * PATIENCE)
    stored = rows_of(lab, id)
    assert stored == sorted(set(stored))
    assert stored[0] == 0
    assert stored[-1] == 60000
    shown = page.js(
        "return Bokeh.documents.map((d) => d.get_model_by_name('now')?.data.step ?? []).map((s) => Array.from(s))"
    )
    curve = max(shown, key=len)
    assert curve == sorted(set(curve))
    assert len(curve) == len(stored)


@pytest.mark.parametrize(
    ("control", "value", "words"),
    [
        ("width", "0", "at least 1"),
        ("fraction", "1.2", "between 0 and 1"),
        ("group", "Q7", "quaternion"),
        ("steps", "1e99", "whole"),
    ],
)
def test_a_message_stands_beside_the_field_and_nothing_is_lost(lab, page, control, value, words):
    page.open(f"{lab.url}/grok").ready()
    page.set("seed", "11")
    page.set(control, value)
    page.until(f"!document.querySelector('#e-{control}').hidden")
    assert words in page.text(f"#e-{control}")
    assert page.js("return document.querySelector('[name=seed]').value") == "11"
    assert page.js(f"return document.querySelector('[name={control}]').value") == value
    assert page.js("return document.querySelector('#train').disabled")


def test_a_table_of_the_user(lab, page):
    page.open(f"{lab.url}/grok").ready()
    page.click("#own-table summary")
    page.js("document.querySelector('#table-text').value = '0 1 2\\n1 2 0\\n2 1 0'")
    page.click("#use-table")
    page.until("!document.querySelector('#e-table').hidden")
    klein = "\n".join(" ".join(str(a ^ b) for b in range(8)) for a in range(8))
    page.js("document.querySelector('#table-text').value = arguments[0]", klein)
    page.click("#use-table")
    page.until("document.querySelector('#table-state').textContent.includes('8 elements')")
    page.until("document.querySelector('#cost').textContent.includes('of 64 pairs')")
    assert "table=" in page.js("return location.search")


def test_names_with_markup_are_text(lab, page):
    page.open(f"{lab.url}/grok?group=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E").ready()
    page.until("!document.querySelector('#e-group').hidden")
    assert "<img" in page.text("#e-group") or "img" in page.text("#e-group")
    assert page.js("return document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(lab, page, dark, width):
    page.open(f"{lab.url}/grok?{QUICK.format(60, 1)}").ready()
    page.look(width=width, dark=dark)
    page.until("document.querySelector('#chance').textContent.includes('%')")
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.fits(width)
    assert not page.violations()
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = false; })")
    page.shot(f"grok-{'dark' if dark else 'light'}-{width}")


def test_two_browsers_see_the_same_run_without_cross_talk(lab, page, drivers):
    from tests.browser.conftest import Page

    other = Page(drivers())
    page.open(f"{lab.url}/grok?{QUICK.format(3000, 5)}").ready()
    other.open(f"{lab.url}/grok?{QUICK.format(3000, 6)}").ready()
    for tab in (page, other):
        tab.until("!document.querySelector('#train').disabled")
        tab.click("#train")
    ids = [tab.until("document.body.dataset.result", 2 * PATIENCE) for tab in (page, other)]
    assert ids[0] != ids[1]
    for id in ids:
        assert rows_of(lab, id)[-1] == 3000
    for tab in (page, other):  # a tab hears of the end of the other's run a moment later
        tab.until("!document.querySelector('#jobs .badge.running, #jobs .badge.queued')")
        tab.until(f"{ids}.every((id) => document.querySelector(`#earlier a[href*='${{id}}']`))")
    other.open("about:blank")
