"""Room 2 in a real browser: map, waves, circles, time by keyboard and by Play, other groups, export, axe."""

import time

import pytest

from firstlight import runs
from firstlight.lab import default_form, spec_of
from firstlight.records import Store
from tests.browser.conftest import RunningLab, is_inside
from tests.browser.keyboard import press

RUNS = {
    "Z11": {"group": "Z11", "width": "64", "steps": "200", "rate": "0.01"},
    "S3": {"group": "S3", "width": "32", "steps": "100", "rate": "0.01", "fraction": "0.8"},
    "A4": {"group": "A4", "width": "32", "steps": "60", "rate": "0.01", "activation": "relu"},
    "transformer": {"group": "Z7", "model": "transformer", "width": "32", "steps": "20", "activation": "relu"},
}
LONG = 180.0
"""Seconds that a loaded machine may take for an answer of the worker, whose start loads JAX."""


@pytest.fixture(scope="module")
def theatre(tmp_path_factory):
    """A lab on a store with a run of each kind, trained before the lab opens it."""
    folder = tmp_path_factory.mktemp("theatre")
    ids = {}
    for name, changes in RUNS.items():
        spec = runs.with_lenses(spec_of(default_form() | changes))
        ids[name] = runs.run(spec, store=folder / "store.sqlite", progress="off").id
    lab = RunningLab(folder)
    lab.ids = ids
    yield lab
    lab.stop()


@pytest.fixture
def stage(theatre, page):
    """A function that opens the room at a run and waits for its picture."""

    def show(name, query=""):
        page.open(f"{theatre.url}/theatre?run={theatre.ids[name]}{query}").ready()
        page.until(f"document.body.dataset.shown === '{theatre.ids[name]}'", LONG)
        return page

    return show


def keys(page, selector, *words):
    page.js("document.querySelector(arguments[0]).focus()", selector)
    press(page, *words)


def pixels(page):
    """Return the sum over the map's pixels: another picture has another sum."""
    return page.js(
        "const c = document.querySelector('#heat'); const d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data; let s = 0; for (const v of d) { s += v; } return s"
    )


def test_the_map_names_unit_irrep_and_share_by_keyboard_and_pointer(stage):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    page = stage("Z11")
    assert page.text("#time-text") == "epoch 200 of 200"
    keys(page, "#heat", Keys.HOME)
    words = page.text("#named")
    assert words.startswith("Hidden unit ")
    assert "the irrep 0 holds" in words
    assert page.text("#spoken") == words
    keys(page, "#heat", Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert "the irrep ±1 holds" in page.text("#named")
    spoken = page.text("#spoken")
    page.js("document.querySelector('#heat').scrollIntoView({block: 'start', behavior: 'instant'})")
    heat = page.driver.find_element("css selector", "#heat")
    ActionChains(page.driver).move_to_element_with_offset(heat, 40, 0).perform()
    page.until(f"document.querySelector('#named').textContent !== {spoken!r}")
    assert page.text("#spoken") == spoken  # a pointer does not talk
    assert not page.errors()


def test_enter_draws_the_wave_of_a_unit_and_the_field_takes_numbers(stage):
    from selenium.webdriver.common.keys import Keys

    page = stage("Z11")
    before = page.js("return document.querySelector('#units').value")
    keys(page, "#heat", Keys.PAGE_UP, Keys.PAGE_UP, Keys.PAGE_UP, Keys.PAGE_UP, Keys.ARROW_DOWN, Keys.ENTER)
    after = page.js("return document.querySelector('#units').value")
    assert before != after
    assert page.js("return document.querySelectorAll('#waves svg').length") == len(after.split(","))
    only = after.split(",")[-1].strip()
    page.js(
        "const c = document.querySelector('#units'); c.value = arguments[0]; c.dispatchEvent(new Event('change'))", only
    )
    assert page.js("return document.querySelectorAll('#waves svg').length") == 1
    assert f"Unit {only}:" in page.text("#waves svg text")
    page.js("const c = document.querySelector('#units'); c.value = '9999'; c.dispatchEvent(new Event('change'))")
    assert "not drawn here: 9999" in page.text("#units-problem")
    assert page.js("return document.querySelectorAll('#waves svg').length") == 1


def test_the_scrubber_moves_by_keyboard_and_the_address_holds_the_view(stage, theatre):
    from selenium.webdriver.common.keys import Keys

    page = stage("Z11")
    last, ending = page.js("return Number(document.body.dataset.frame)"), pixels(page)
    keys(page, "#time", Keys.HOME)
    assert page.js("return document.body.dataset.frame") == "0"
    assert page.text("#time-text") == "epoch 0 of 200"
    assert pixels(page) != ending
    keys(page, "#time", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.js("return document.body.dataset.frame") == "2"
    assert last == 39
    step = page.text("#time-text").split()[1]
    page.until(f"location.search.includes('at={step}')")
    page.driver.refresh()
    page.ready()
    page.until("document.body.dataset.frame === '2'", LONG)
    assert page.js("return document.querySelector('#export').getAttribute('href')").count(f"at={step}") in (0, 1)


def test_play_runs_to_the_end_and_pauses_and_never_starts_by_itself(stage):
    page = stage("Z11", "&at=0")
    time.sleep(0.6)
    assert page.js("return document.body.dataset.frame") == "0"
    page.click("#play")
    page.until("Number(document.body.dataset.frame) > 1")
    assert page.text("#play") == "Pause"
    page.click("#play")
    assert page.text("#play") == "Play"
    held = page.js("return document.body.dataset.frame")
    time.sleep(0.6)
    assert page.js("return document.body.dataset.frame") == held
    page.click("#play")
    page.until("document.body.dataset.frame === '39' && document.querySelector('#play').textContent === 'Play'", LONG)


def test_reduced_motion_slows_the_film(stage):
    page = stage("Z11", "&at=0")
    media = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    start = time.monotonic()
    page.click("#play")
    page.until("Number(document.body.dataset.frame) >= 2")
    assert time.monotonic() - start > 1.8
    page.click("#play")


@pytest.mark.parametrize(("name", "irreps"), [("S3", ["[1,1,1]", "[2,1]"]), ("A4", ["1b⊕1c", "3a"])])
def test_groups_that_do_not_commute(stage, name, irreps):
    page = stage(name)
    assert sorted(page.js("return Array.from(document.querySelector('#irrep').options, (o) => o.text)")) == sorted(
        irreps
    )
    assert "does not apply: it needs an Abelian group" in page.text("#orders-caption")
    assert page.text("#orders-title") == "Living units per irrep"
    assert page.js("return document.querySelectorAll('#circles svg').length") == 2
    page.js("const c = document.querySelector('#irrep'); c.selectedIndex = 1; c.dispatchEvent(new Event('change'))")
    page.until("document.querySelector('#circles svg text').textContent.startsWith("
               "document.querySelector('#irrep').selectedOptions[0].text)")  # fmt: skip
    known = "as a share of E*" if name == "S3" else "not known in closed form"
    assert known in page.text("#energy-caption")
    assert not page.errors()


def test_a_transformer_shows_its_embedding_and_says_what_is_missing(stage):
    page = stage("transformer")
    assert "embedding dimension" in page.text("#heat-note")
    assert "do not see the elements directly" in page.text("#energy")
    assert "does not apply" in page.text("#orders-caption")


def test_every_chart_has_a_table(stage):
    page = stage("Z11")
    for details in page.driver.find_elements("css selector", "#stage details[data-table]"):
        page.js("arguments[0].open = true", details)
        page.until(f"document.querySelector('details[data-table={details.get_attribute('data-table')}] tbody tr')")
    rows = page.js("return document.querySelectorAll('details[data-table=heat] tbody tr').length")
    assert rows == 64
    shares = page.js("return Array.from(document.querySelector('details[data-table=heat] tbody tr').cells,"
                     " (c) => c.textContent).slice(2).map((t) => parseInt(t))")  # fmt: skip
    assert 97 <= sum(shares) <= 103  # six rounded percentages


def test_the_census_shows_blocks_of_the_run(stage, theatre):
    page = stage("Z11")
    with Store(theatre.store) as store:
        orders = store.get_run(theatre.ids["Z11"]).table["cogo.orders"][-1].astype(int).tolist()
    page.js("document.querySelector('details[data-table=orders]').open = true")
    page.until("document.querySelector('details[data-table=orders] tbody tr')")
    shown = page.js("return Array.from(document.querySelectorAll('details[data-table=orders] tbody tr'),"
                    " (r) => Number(r.cells[1].textContent))")  # fmt: skip
    assert shown == orders
    assert f"Now {orders.count(4)} frequencies have 4, {orders.count(6)} have 6" in page.text("#orders-caption")


def test_an_empty_store_says_what_to_do_first(page, tmp_path):
    lab = RunningLab(tmp_path)
    try:
        page.open(f"{lab.url}/theatre").ready()
        assert not page.js("return document.querySelector('#empty').hidden")
        assert "press Train" in page.text("#empty-words")
        assert page.js("return document.querySelector('#stage').hidden")
        assert page.js("return document.querySelector('#choose').hidden")
        assert not page.violations()
        page.click("#empty a")
        page.until("location.pathname === '/grok'")
    finally:
        lab.stop()


def test_the_exported_file_plays_without_the_lab(stage, theatre, tmp_path):
    page = stage("Z11", "&at=0&irrep=%C2%B12")
    page.until("document.querySelector('#export').getAttribute('href').includes('at=0')")
    text = page.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; fetch(document.querySelector('#export').href)"
        ".then((r) => r.text()).then(done)"
    )
    (tmp_path / "features.html").write_text(text, encoding="utf-8")
    assert all(is_inside(address) for address in page.addresses())
    page.errors()
    page.open((tmp_path / "features.html").as_uri())
    page.until(f"document.body.dataset.shown === '{theatre.ids['Z11']}'")
    # Whatever the file asks for is the file itself.
    assert all(address.startswith(("file://", "data:")) for address in page.addresses())
    assert page.js("return document.body.dataset.frame") == "0"
    assert page.js("return document.querySelector('#irrep').selectedOptions[0].text") == "±2"
    page.click("#play")
    page.until("Number(document.body.dataset.frame) > 1")
    page.click("#play")
    assert not page.errors()
    assert not page.violations()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(stage, page, dark, width):
    page.look(width=width, dark=dark)
    stage("Z11")
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.until("document.querySelectorAll('#stage details tbody tr').length > 100")
    page.fits(width)
    assert not page.violations()
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = false; })")
    page.shot(f"theatre-{'dark' if dark else 'light'}-{width}")
