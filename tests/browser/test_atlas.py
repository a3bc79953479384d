"""Room 4 in a real browser: the cost of a sweep, cells that fill in, stop, resume, kill -9, keyboard, axe."""

from urllib.parse import urlencode

import pytest

from firstlight.records import Store, StoreError
from tests.browser.keyboard import press, unreachable

SMALL = {"group": "Z5", "fraction": "0.4, 0.6, 0.8", "decay": "0, 0.0001, 0.001", "width": "16", "rate": "0.002",
         "activation": "quadratic", "optimizer": "adam", "steps": "40", "seeds": "2"}  # fmt: skip
LOADED = 240.0
"""Seconds that a slow machine may need to compile the programs of a small sweep and train it."""


def ended(lab):
    try:
        with Store(lab.store) as store:
            return store.run_ids("finished")
    except StoreError:
        return []


def open_with(lab, page, **changes):
    page.open(f"{lab.url}/atlas?{urlencode(SMALL | changes)}").ready()
    page.until("document.body.dataset.estimated", LOADED)
    page.until("document.body.dataset.map", LOADED)
    return page


def start(page):
    page.until("!document.querySelector('#start').disabled && !document.querySelector('#start').hidden", LOADED)
    page.click("#start")
    return page.until("document.body.dataset.started", LOADED)


@pytest.fixture
def finished(lab, page):
    """A map of nine cells whose runs have all ended."""
    open_with(lab, page)
    page.until("!document.querySelector('#start').disabled && !document.querySelector('#start').hidden", LOADED)
    page.click("#start")  # or "Show its map", if an earlier test has trained it
    page.until("document.body.dataset.ended === '18' && document.querySelectorAll('#grid button').length === 9", LOADED)
    return page


def test_an_empty_store_says_what_to_do_and_the_cost_comes_first(tmp_path, drivers):
    from tests.browser.conftest import Page, RunningLab

    own = RunningLab(tmp_path)
    try:
        page = Page(drivers())
        open_with(own, page)
        page.until("!document.querySelector('#empty').hidden", LOADED)
        assert "No sweep yet" in page.text("#empty")
        assert page.text("#cost-points") == "18"
        assert page.text("#cost-programs") == "3"
        assert page.text("#cost-time").endswith(" s")
        assert page.text("#cost-bytes").endswith("B")
        assert not page.violations()
        page.open("about:blank")
    finally:
        own.stop_jobs()
        own.stop()


def test_cells_fill_in_and_a_cell_opens_its_runs(lab, finished):
    page = finished
    assert page.js("return document.querySelectorAll('#grid button.none, #grid button.part').length") == 0
    assert "18 runs generalised" in page.text("#story") or "of 18 runs" in page.text("#story")
    labels = page.js("return Array.from(document.querySelectorAll('#grid th'), (th) => th.textContent)")
    assert {"0", "10⁻⁴", "0.001", "0.4", "0.6", "0.8", "weight decay →", "↑ training fraction"} <= set(labels)
    page.click('#grid button[data-c="1"][data-r="2"]')
    page.until("document.body.dataset.cell === '1.2'", LOADED)
    assert "weight decay 10⁻⁴, training fraction 0.8" in page.text("#cell-title")
    assert page.js("return document.querySelectorAll('#cell table.verdicts tbody tr').length") == 2
    assert page.js("return document.querySelectorAll('#cell svg').length") == 1
    assert "cell=1.2" in page.js("return location.search")
    page.driver.refresh()
    page.ready()
    page.until("document.body.dataset.cell === '1.2'", LOADED)
    assert not page.errors()
    page.shot("atlas-light-1280")


def test_axes_are_chosen_and_the_address_holds_them(lab, finished):
    page = finished
    page.set("x", "fraction")
    page.until("document.querySelector('#y').value === 'decay' && location.search.includes('x=fraction')", LOADED)
    page.until("document.querySelector('#grid th.axis:not(.up)').textContent.startsWith('training fraction')", LOADED)
    page.driver.refresh()
    page.ready()
    page.until("document.querySelector('#x').value === 'fraction'", LOADED)
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.js("return document.querySelectorAll('#numbers tbody tr').length") == 9


def test_the_map_is_moved_through_and_opened_by_the_keyboard(lab, finished):
    from selenium.webdriver.common.keys import Keys

    page = finished
    page.js("document.querySelector('#y').focus()")
    reached = False
    for _ in range(12):
        press(page, Keys.TAB)
        reached = page.js("return document.activeElement.closest('#grid') !== null")
        if reached:
            break
    assert reached, "no Tab reached the map"
    press(page, Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert page.js("const d = document.activeElement.dataset; return [d.c, d.r]") == ["1", "1"]
    assert page.js("return document.querySelectorAll('#grid button[tabindex=\"0\"]').length") == 1
    press(page, Keys.ENTER)
    page.until("document.body.dataset.cell === '1.1'", LOADED)
    page.until("document.activeElement.id === 'cell-title'")


def test_everything_else_is_reached_by_the_keyboard(lab, finished):
    assert not unreachable(finished, but="#grid button[tabindex='-1']")


def test_a_sweep_is_stopped_and_resumed_and_survives_the_death_of_the_server(lab, page):
    long = {"group": "Z7", "steps": "3000", "width": "64", "seeds": "4"}
    before = set(ended(lab))
    open_with(lab, page, **long)
    start(page)
    page.until("document.querySelector('#story').textContent.startsWith('Z7')", LOADED)
    page.until("document.body.dataset.ended > 0 && document.body.dataset.job === 'running'", LOADED)
    page.click("#stop")
    page.until("document.body.dataset.job === 'stopped'", LOADED)
    stopped = set(ended(lab)) - before
    assert 0 < len(stopped) < 36
    assert "points are in the store" in page.text("#jobs")
    times = created(lab, stopped)
    page.until("!document.querySelector('#resume').hidden", LOADED)
    page.click("#resume")
    page.until("document.body.dataset.job === 'running'", LOADED)
    recorder = lab.recorder
    page.driver.refresh()
    page.ready()
    lab.kill()
    page.open("about:blank")
    lab.start()
    assert lab.recorder == recorder  # adopted
    open_with(lab, page, **long)
    page.until("document.body.dataset.job === 'finished'", 2 * LOADED)
    assert len(set(ended(lab)) - before) == 36
    assert created(lab, stopped) == times  # no finished point was trained again
    page.until("document.body.dataset.ended === '36'", LOADED)


def created(lab, ids):
    with Store(lab.store) as store:
        return {id: store.get_run(id).created for id in ids}


@pytest.mark.parametrize(
    ("control", "value", "words"),
    [
        ("fraction", "0.1 to 0.9 in 1000000", "too many"),
        ("fraction", "1.5", "between 0 and 1"),
        ("decay", "some", "must be a number"),
        ("group", "Q7", "quaternion"),
    ],
)
def test_a_message_stands_beside_the_field_and_nothing_is_lost(lab, page, control, value, words):
    open_with(lab, page)
    page.set("seeds", "5")
    page.set(control, value)
    page.until(f"!document.querySelector('#e-{control}').hidden", LOADED)
    assert words in page.text(f"#e-{control}")
    assert page.js("return document.querySelector('[name=seeds]').value") == "5"
    assert page.js(f"return document.querySelector('[name={control}]').value") == value
    assert page.js("return document.querySelector('#start').disabled")


def test_an_expensive_sweep_asks_first(lab, page):
    open_with(lab, page, steps="200000", width="2048")
    page.until("!document.querySelector('#ask').hidden", LOADED)
    assert page.js("return document.querySelector('#start').disabled")
    page.click("#sure")
    page.until("!document.querySelector('#start').disabled", LOADED)


def test_names_with_markup_are_text(lab, page):
    page.open(f"{lab.url}/atlas?{urlencode(SMALL | {'group': '<img src=x onerror=alert(1)>'})}").ready()
    page.until("!document.querySelector('#e-group').hidden", LOADED)
    assert page.js("return document.querySelectorAll('img').length") == 0


def test_the_export_is_complete_in_itself(lab, finished):
    text = finished.js(
        "const r = new XMLHttpRequest(); r.open('GET', document.querySelector('#export').href, false); r.send();"
        "return r.responseText"
    )
    assert "complete in itself" in text
    assert "<svg" in text
    assert "/static/" not in text


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(lab, finished, dark, width):
    page = finished
    page.look(width=width, dark=dark)
    page.click('#grid button[data-c="0"][data-r="0"]')
    page.until("document.body.dataset.cell === '0.0'", LOADED)
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.fits(width)
    assert not page.violations()
    page.shot(f"atlas-{'dark' if dark else 'light'}-{width}")
