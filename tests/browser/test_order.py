"""Answers and news in every order: coalesced, repeated, late, overtaken. The test plays the lab: nothing is timed."""

import contextlib
import signal
import subprocess
from pathlib import Path

import pytest

from tests.browser.scripted import job, played
from tests.lab.stub import COMMAND

FORECAST = {"covered": False, "computing": False, "reason": "the test forecasts nothing", "point": [5, 0.6]}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a lab without JAX, for its pages and charts."""
    store = tmp_path_factory.mktemp("order") / "store.sqlite"
    command = [*COMMAND, "serve", str(store)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    yield server.stdout.readline().split()[-1].rstrip("/")
    server.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(60)
        return
    server.kill()


# ---- Grok live


def setting(id, status=None, **values):
    known = {"id": id, "title": f"run {id}", "order": 5, "pairs": [15, 25], "clock": "epoch", "seconds": 1.0,
             "copies": {"toml": f"seed = {id}"}, "forecast": FORECAST, "status": status, "job": None}  # fmt: skip
    return known | values


def rows(run, first, last, step=10):
    steps = list(range(first, last, step))
    columns = {"step": steps, "train_accuracy": [0.5] * len(steps)}
    return {"run": run, "total": last // step, "columns": columns}


def curve(page):
    return page.js(
        "return Bokeh.documents.map((d) => Array.from(d.get_model_by_name('now')?.data.step ?? []))"
        ".reduce((a, b) => (a.length > b.length ? a : b))"
    )


@pytest.fixture
def grok(address, page):
    """A function that opens the room with rules beside those that a new setting needs."""
    with contextlib.ExitStack() as stack:

        def start(*rules):
            first = [("GET /api/setting", setting("a1")), ("GET /api/runs$", {"runs": []})]
            script = stack.enter_context(played(page, f"{address}/grok?seed=1", [*first, *rules]))
            page.until("!document.querySelector('#train').disabled")
            script.settle()
            return script

        yield start


def test_a_button_in_a_list_keeps_the_focus_while_its_job_reports(page, grok):
    script = grok()
    script.jobs(job("b2", done=1))
    page.js("window.stop = document.querySelector('#jobs button'); stop.focus()")
    for done in (2, 3):
        script.jobs(job("b2", done=done, message=f"{done} of 10"))
    assert page.text("#jobs .hint") == "3 of 10"
    assert page.js("return document.activeElement === stop && stop.isConnected")
    script.answer("POST /api/jobs", job("b2"))
    page.click("#jobs button[aria-label='Stop: job b2']")
    script.settle()
    assert '{"id":"b2","action":"stop"}' in script.asked("POST /api/jobs")[0]
    script.jobs(job("b2", "stopped"))
    assert page.js("return Array.from(document.querySelectorAll('#jobs button'), (b) => b.textContent)") == [
        "Resume",
        "Remove",
    ]
    script.jobs()
    assert page.text("#jobs") == ""


def test_a_run_that_ends_between_two_news_is_listed(page, grok):
    script = grok()
    script.jobs()
    ended = {"id": "a1", "title": "run a1", "status": "finished", "story": "It ended."}
    script.answer("GET /api/runs$", {"runs": [ended]})
    script.jobs(job("a1", "finished"))
    page.until("document.querySelector('#earlier').textContent.includes('It ended.')")
    script.answer("GET /api/runs$", {"runs": [ended | {"story": "It ended again."}]})
    script.jobs(job("a1", "finished", turn="second"))
    page.until("document.querySelector('#earlier').textContent.includes('It ended again.')")


def test_rows_of_the_run_before_do_not_reach_the_next_one(page, grok):
    script = grok(("GET /api/runs/b2/rows", {"total": 3, "columns": {"step": [0, 10, 20]}}, "held"))
    script.send("rows", rows("a1", 0, 50), 5)
    assert curve(page) == [0, 10, 20, 30, 40]
    script.answer("GET /api/setting", setting("b2", "interrupted"))
    page.set("seed", "2")
    script.held("b2/rows")
    script.send("rows", rows("a1", 50, 90), 9)  # its stream is still open
    script.release("b2/rows")
    assert curve(page) == [0, 10, 20]
    assert "from=3" in page.js("return tab.sources.at(-1).url")


def test_the_stream_follows_the_setting_that_was_chosen_last(page, grok):
    empty = {"total": 1, "columns": {"step": [0]}}
    script = grok(("GET /api/runs/b2/rows", empty, "held"), ("GET /api/runs/c3/rows", empty, "held"))
    for seed, id in (("2", "b2"), ("3", "c3")):
        script.answer("GET /api/setting", setting(id, "interrupted"))
        page.set("seed", seed)
        script.held(f"{id}/rows")
    script.release("c3/rows")
    script.release("b2/rows")  # the older answer comes last
    assert "run=c3" in page.js("return tab.sources.at(-1).url")
    script.send("rows", rows("c3", 10, 40), 4)
    assert curve(page) == [0, 10, 20, 30]


def test_an_answer_to_the_form_as_it_was_is_not_shown(page, grok):
    script = grok(("GET /api/setting.*seed=2", setting("b2", "finished"), "held"))
    page.set("seed", "2")
    script.held("seed=2")
    page.set("seed", "3")
    script.release("seed=2")
    assert page.text("#run-state") == "not run"


def test_a_curve_that_is_loaded_again_repeats_no_row_and_loses_none(page, grok):
    many = list(range(0, 31000, 10))
    loaded = {"total": 3105, "columns": {"step": [*range(0, 31000, 100), *range(31000, 31050, 10)]}}
    script = grok(("GET /api/runs/a1/rows", loaded, "held"))
    script.send("rows", rows("a1", 0, 31000), 3100)  # more points than the page draws one by one
    assert curve(page) == many
    script.held("a1/rows")
    script.send("rows", rows("a1", 31000, 31100), 3110)  # partly in the answer, partly newer
    script.release("a1/rows")
    script.send("rows", rows("a1", 31100, 31120), 3112)
    steps = curve(page)
    assert steps == sorted(set(steps))
    assert steps[-12:] == list(range(31000, 31120, 10))


def test_the_problem_of_a_control_stays_while_a_failed_run_is_reported(page, grok):
    script = grok()
    script.jobs(job("a1", "failed", message="it broke"))
    assert page.text("[data-problem='']") == "it broke"
    script.answer("GET /api/setting", {"problems": {"width": "at least 1"}}, status=422)
    page.set("width", "0")
    page.until("!document.querySelector('#e-width').hidden")
    script.jobs(job("a1", "failed", message="it broke"), job("b2"))
    assert page.text("#e-width") == "at least 1"
    script.jobs(job("a1", "queued", turn="second"))
    assert page.js("return document.querySelector('[data-problem=\"\"]').hidden")


def test_a_result_is_drawn_once_however_often_the_stream_opens(page, grok):
    html = "<details><summary>more</summary>words</details>"
    result = {"html": html, "stages": [], "status": "finished", "rows": 2}
    curve = {"total": 2, "columns": {"step": [0, 10]}}
    script = grok(("GET /api/runs/a1/result", result), ("GET /api/runs/a1/rows", curve))
    for _ in range(2):
        script.send("status", {"run": "a1", "status": "finished", "rows": 2}, 2)
        page.until("document.querySelector('#scoreboard details')")
        page.js("document.querySelector('#scoreboard details').open = true")
    assert page.js("return document.querySelector('#scoreboard details').open")
    assert len(script.asked("GET /api/runs/a1/result")) == 1


def test_nothing_is_copied_of_a_setting_that_is_wrong(page, grok):
    script = grok()
    script.answer("GET /api/setting", {"problems": {"width": "at least 1"}}, status=422)
    page.set("width", "0")
    page.until("!document.querySelector('#e-width').hidden")
    page.click(".copy-as[data-as=toml]")
    page.until("document.querySelector('#copied').textContent.includes('mend the setting')")
    assert page.text("#copy-text") == ""


def test_a_lab_that_does_not_answer_is_named_and_asked_again(page, grok):
    script = grok()
    script.jobs(job("a1"))
    script.answer("POST ", how="lost")
    for button in ("#pause", "#jobs button"):
        page.click(button)
        page.until("document.querySelector('[data-problem=\"\"]').textContent.includes('does not answer')")
        page.js("document.querySelector('[data-problem=\"\"]').textContent = ''")
    script.answer("GET /api/setting", how="lost")
    page.set("seed", "2")
    page.until("document.querySelector('#train').disabled")
    script.answer("GET /api/setting", setting("b2"))
    page.until("!document.querySelector('#train').disabled")  # without another change
    assert page.js("return document.querySelector('[data-problem=\"\"]').hidden")


def test_a_stream_that_is_lost_is_said_until_it_is_back(page, grok):
    grok()
    page.js("tab.sources.at(-1).readyState = 0; window.tries = setInterval(() => tab.sources.at(-1).onerror(), 300)")
    page.until("document.querySelector('#lost').checkVisibility()")
    page.js("clearInterval(tries); tab.sources.at(-1).readyState = 1; tab.sources.at(-1).onopen()")
    page.until("!document.querySelector('#lost').checkVisibility()")


# ---- Staircase


def staircase(id, **values):
    jump = {"time": 1.0, "flow_time": 2.0, "before": 1.0, "after": 0.5}
    known = {"id": id, "title": id, "form": {"case": "linear", "alpha": "1e-4"}, "eta": 1.0, "clock": "1", "job": None,
             "jumps": [jump], "stairs": {"time": [0.1, 1], "loss": [1, 0.5]}, "stored": False}  # fmt: skip
    return known | values


def test_a_new_flow_leaves_the_flow_of_another_tab_alone(address, page):
    rules = [("GET /api/staircase[?]", staircase("s1")), ("GET /api/staircases", {"staircases": []})]
    with played(page, f"{address}/staircase?case=linear", rules) as script:
        page.until("document.body.dataset.predicted")
        own, other = job("staircase:s1", kind="staircase"), job("staircase:x9", kind="staircase")
        script.jobs(other)
        script.answer("POST /api/staircase$", own)
        page.click("#run")
        page.until("tab.asked.some((line) => line.startsWith('POST /api/staircase '))")
        assert not script.asked("POST /api/jobs")
        script.jobs(other, own)
        script.answer("GET /api/staircase[?]", staircase("s2"))
        script.answer("POST /api/jobs", own)
        script.answer("POST /api/staircase$", job("staircase:s2", kind="staircase"))
        page.set("alpha", "1e-5")
        page.until("document.body.dataset.predicted === 's2'")
        page.click("#run")
        page.until("tab.asked.filter((line) => line.startsWith('POST /api/staircase ')).length === 2")
        stopped = script.asked("POST /api/jobs")
        assert len(stopped) == 1
        assert '"staircase:s1","action":"stop"' in stopped[0]


# ---- Phase atlas


def diagram(runs=("a",), generalised=1):
    cell = {"column": 0, "row": 0, "runs": list(runs), "ended": len(runs), "missing": 0, "generalised": generalised,
            "chance": None, "share": generalised / len(runs)}  # fmt: skip
    axis = {"label": "decay", "names": ["0"]}
    record = {"title": "Z5", "story": f"{generalised} of {len(runs)} runs generalised.", "theory": "", "averaged": [],
              "x": axis, "y": {"label": "fraction", "names": ["0.4"]}, "cells": [cell], "lines": []}  # fmt: skip
    return {"families": [{"id": "f1", "title": "Z5", "runs": len(runs)}], "map": "f1", "x": "decay", "y": "fraction",
            "fixed": {}, "waiting": False, "axes": {"decay": "decay", "fraction": "fraction"}, "others": {},
            "record": record, "table": "<table></table>"}  # fmt: skip


COST = {"id": "sweep:1", "family": "f1", "title": "Z5", "points": 2, "left": 2, "programs": 1, "core_hours": 0.001,
        "seconds": 1, "bytes": 10, "memory": 10, "asks": False, "job": None}  # fmt: skip


@pytest.fixture
def atlas(address, page):
    with contextlib.ExitStack() as stack:

        def start(*rules, query=""):
            first = [("GET /api/atlas[?]", diagram()), ("GET /api/atlas/estimate", COST)]
            script = stack.enter_context(played(page, f"{address}/atlas{query}", [*first, *rules]))
            page.until("document.body.dataset.estimated")
            script.settle()
            return script

        yield start


def test_points_that_ended_before_the_first_news_are_on_the_map(page, atlas):
    script = atlas()
    assert "1 of 1 runs" in page.text("#story")
    script.answer("GET /api/atlas[?]", diagram(("a", "b")))
    script.jobs(job("sweep:1", "finished", "sweep", done=2))
    page.until("document.querySelector('#story').textContent.includes('1 of 2 runs')")


def test_a_map_without_a_line_of_theory_has_nothing_to_scroll(page, atlas):
    atlas()
    assert page.js("const m = document.querySelector('.map-scroll'); return m.scrollHeight - m.clientHeight") == 0


def test_the_open_cell_follows_the_newest_map(page, atlas):
    script = atlas(("GET /api/atlas/cell.*ids=a$", "<p>one</p>"), ("GET /api/atlas/cell.*ids=a%2Cb$", "<p>two</p>"))
    page.click("#grid button")
    page.until("document.querySelector('#cell').textContent === 'one'")
    script.answer("GET /api/atlas[?]", diagram(), "held")
    script.jobs(job("sweep:1", "running", "sweep", done=1))
    script.held("atlas[?]")
    script.answer("GET /api/atlas[?]", diagram(("a", "b")))
    script.jobs(job("sweep:1", "finished", "sweep", done=2))  # while the map before is still on its way
    script.release("atlas[?]")
    page.until("document.querySelector('#cell').textContent === 'two'")


def test_what_is_open_in_a_cell_stays_open_while_it_fills(page, atlas):
    rules = [(f"GET /api/atlas/cell.*ids={ids}$", f"<details><summary>{ids}</summary>x</details>")
             for ids in ("a", "a%2Cb")]  # fmt: skip
    script = atlas(*rules)
    page.click("#grid button")
    page.until("document.querySelector('#cell details')")
    page.js("window.shown = document.querySelector('#cell details'); shown.open = true")
    script.jobs(job("sweep:1", "running", "sweep", done=1))
    page.until("tab.asked.filter((line) => line.includes('/api/atlas/cell')).length === 2")
    script.settle()
    assert page.js("return shown.isConnected && shown.open")
    script.answer("GET /api/atlas[?]", diagram(("a", "b")))
    script.jobs(job("sweep:1", "running", "sweep", done=2))
    page.until("!shown.isConnected && document.querySelector('#cell details').open")


def test_a_browser_that_refuses_another_address_still_shows_the_news(page, atlas):
    """Safari does so after a hundred changes in half a minute, and a sweep brings ten news a second."""
    script = atlas()
    page.js("history.replaceState = () => { throw new DOMException('too often', 'SecurityError'); }")
    page.js("history.pushState(null, '', '?')")
    for done, runs in ((1, ("a", "b")), (2, ("a", "b", "c"))):
        script.answer("GET /api/atlas[?]", diagram(runs))
        script.jobs(job("sweep:1", "running", "sweep", done=done))
        page.until(f"document.querySelector('#story').textContent.includes('1 of {len(runs)} runs')")
    assert not page.errors()


def test_the_last_sweep_can_be_removed_from_the_list(page, atlas):
    script = atlas()
    script.jobs(job("sweep:1", "stopped", "sweep"))
    assert "Remove" in page.text("#jobs")
    script.jobs()
    assert page.text("#jobs") == "No sweep was started from this page yet."


def test_a_refused_map_is_not_asked_for_again(page, atlas):
    script = atlas()
    script.answer("GET /api/atlas[?]map=gone", {"error": "no such map"}, status=404)
    page.js(
        "const s = document.querySelector('#map'); s.append(new Option('gone', 'gone')); s.value = 'gone';"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    page.until("document.querySelector('#map-state').textContent === 'no such map'")
    script.jobs(job("sweep:1", "running", "sweep", done=1))
    page.until("document.querySelector('#map-state').textContent === ''")


# ---- Claims court


def test_the_newest_of_two_checks_is_shown(address, page):
    id = "claim:cogo.lemma-3"
    rules = [("GET /api/court/cogo.lemma-3/own", "<p>first</p>", "held")]
    with played(page, f"{address}/court/cogo.lemma-3", rules) as script:
        script.jobs(job(id, "finished", "claim"))
        script.held("own")
        script.answer("POST /api/court", job(id, "queued", "claim", turn="second"))
        page.click("#rerun")
        script.answer("GET /api/court/cogo.lemma-3/own", "<p>second</p>")
        script.jobs(job(id, "finished", "claim", turn="second"))
        page.until("document.querySelector('#own').textContent === 'second'")
        script.release("own")
        assert page.text("#own") == "second"
        page.until("document.body.dataset.checked")
        script.answer("POST /api/court", {"error": "the recorder ended"}, status=409)
        page.click("#rerun")
        page.until("document.querySelector('#rerun-problem').textContent === 'the recorder ended'")
        script.jobs(job(id, "finished", "claim", turn="second"), job("b2"))
        assert page.text("#rerun-problem") == "the recorder ended"


# ---- Bench


FILES = {"has_folder": True, "largest": 1e8, "files": [{"id": "t1", "name": "t.csv", "kind": "table", "size": 9},
         {"id": "p1", "name": "p.safetensors", "kind": "probe", "size": 9}]}  # fmt: skip
COLUMNS = {"rows": 9, "columns": [{"name": "y", "kind": "numbers", "distinct": 9, "missing": 0, "reason": ""}]}


@pytest.fixture
def bench(address, page):
    with contextlib.ExitStack() as stack:

        def start(*rules, query="?file=t1&target=y"):
            first = [("GET /api/bench/files", FILES), ("GET /api/bench/columns", COLUMNS),
                     ("GET /api/bench/records", {"fits": [], "probes": []})]  # fmt: skip
            script = stack.enter_context(played(page, f"{address}/bench{query}", [*first, *rules]))
            page.until("!document.querySelector('#fit').disabled && tab.sources.length > 0")
            return script

        yield start


def test_a_comparison_that_is_done_again_shows_its_own_end(page, bench):
    ended = job("fit:1", "finished", "fit", notes={"fit": "old"})
    script = bench(("GET /api/bench/fits/old", "<p>old</p>"), ("GET /api/bench/fits/new", "<p>new</p>"))
    script.jobs(ended)
    script.answer("POST /api/bench$", job("fit:1", "queued", "fit", turn="second"))
    page.click("#fit")
    page.until("tab.asked.some((line) => line.startsWith('POST /api/bench '))")
    script.settle()
    assert page.text("#fit-state") == "queued"
    script.jobs(ended)  # news from before the question
    assert page.text("#fit-state") == "queued"
    assert not script.asked("GET /api/bench/fits/old")
    script.jobs(job("fit:1", "finished", "fit", notes={"fit": "new"}, turn="second"))
    page.until("document.querySelector('#result').textContent === 'new'")
    assert page.text("#fit-state") == "finished"


def test_a_probe_that_is_opened_again_is_not_refused_for_its_earlier_end(page, bench):
    script = bench(("GET /api/bench/probes/r1", "<p>layers</p>"))
    script.jobs(job("probe:1", "failed", "probe", message="torch is missing"))
    script.answer("POST /api/bench/probe", job("probe:1", "queued", "probe", turn="second"))
    page.click("#probe-files button")
    page.until("tab.asked.some((line) => line.startsWith('POST'))")
    script.settle()
    assert page.js("return document.querySelector('#e-probe').hidden")
    script.jobs(job("probe:1", "finished", "probe", notes={"probe": "r1"}, turn="second"))
    page.until("document.querySelector('#probe').textContent === 'layers'")


def test_the_comparison_that_was_opened_last_is_shown(page, bench):
    row = {"title": "fit", "words": "", "id": ""}
    records = {"fits": [row | {"id": "one"}, row | {"id": "two"}], "probes": []}
    script = bench(("GET /api/bench/records", records), ("GET /api/bench/fits/one", "<p>one</p>", "held"),
                   ("GET /api/bench/fits/two", "<p>two</p>", "held"))  # fmt: skip
    for id in ("one", "two"):
        page.until(f"document.querySelector('#fits a[href$={id}]')")
        page.click(f"#fits a[href$={id}]")
        script.held(f"fits/{id}")
    script.release("fits/two")
    script.release("fits/one")
    assert page.text("#result") == "two"
    assert "fit=two" in page.js("return location.search")


def test_a_job_of_an_old_address_that_is_gone_does_not_hide_the_result(page, bench):
    script = bench(("GET /api/bench/fits/one", "<p>one</p>"), query="?file=t1&target=y&fit=one&job=fit:gone")
    script.jobs()
    assert page.text("#fit-state") == "finished"
    assert page.text("#result") == "one"
