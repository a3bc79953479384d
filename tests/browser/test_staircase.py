"""Room 3 in a real browser: prediction, flow, record, overlay; wrong input; the drawn template; keyboard; axe."""

import pytest

from firstlight.records import STAIRCASE, Store

QUICK = "case=linear&alpha=1e-4&values=2%2C%201&width=4&data=&targets=1&seed=0"


def predicted(page, seconds=120.0):
    return page.until("document.body.dataset.predicted", seconds)


def stored(lab):
    with Store(lab.store) as store:
        return [record for record in store.fits() if record.estimator == STAIRCASE]


def test_a_flow_runs_over_the_prediction_and_is_recorded(lab, page):
    page.open(f"{lab.url}/staircase").ready()
    id = predicted(page)
    assert page.text("#jumps") == "4"
    assert page.js("return document.querySelectorAll('#predicted tbody tr').length") == 4
    steps = page.js("return Array.from(Bokeh.documents[0].get_model_by_name('stairs').data.loss)")
    assert steps == sorted(steps, reverse=True)
    page.click("#run")
    assert page.until("document.body.dataset.result", 180) == id
    assert page.js("return document.querySelectorAll('#result tbody tr').length") == 4
    assert "gradient flow made 4 of them" in page.text("#result")
    assert page.text("#run-state") == "finished"
    assert page.js("return Bokeh.documents[0].get_model_by_name('now').data.time.length") == 400
    assert id in [record.id for record in stored(lab)]
    page.driver.refresh()
    page.ready()
    assert page.until("document.body.dataset.result", 120) == id
    page.until("document.querySelector('#earlier a[href^=\"/staircase?\"]')")
    assert not page.errors()
    page.shot("staircase-light-1280")


def test_the_slider_shows_the_staircase_sharpen(lab, page):
    page.open(f"{lab.url}/staircase?{QUICK.replace('1e-4', '0.1')}").ready()
    predicted(page)
    page.click("#run")
    first = page.until("document.body.dataset.result", 180)
    page.js(
        "const s = document.querySelector('#alpha-slider'); s.value = -8;"
        "s.dispatchEvent(new Event('input', {bubbles: true})); s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    second = page.until(f"document.body.dataset.result !== '{first}' && document.body.dataset.result", 180)
    assert "alpha=1e-8" in page.js("return location.search")
    assert "flows at α = 0.1" in page.text("#overlay-note")
    assert page.js("return Bokeh.documents[0].get_model_by_name('before-1').data.time.length") > 10
    distances = {record.id: record.scores["distance"] for record in stored(lab)}
    assert distances[second] < distances[first]


def test_the_address_of_a_record_opens_it_again(lab, page):
    page.open(f"{lab.url}/staircase?{QUICK}").ready()
    predicted(page)
    page.click("#run")
    id = page.until("document.body.dataset.result", 180)
    page.open(f"{lab.url}/staircase").ready()
    link = "#earlier a[href*='alpha=1e-4']"
    page.until(f'document.querySelector("{link}")')
    page.click(link)
    page.ready()
    assert page.until("document.body.dataset.result", 120) == id
    assert page.js("return document.querySelector('[name=values]').value") == "2, 1"


@pytest.mark.parametrize(
    ("case", "control", "value", "words"),
    [
        ("diagonal", "alpha", "7", "must lie between"),
        ("diagonal", "values", "1, two", "'two' is none"),
        ("linear", "width", "0", "between 1 and 40"),
        ("attention", "values", "1, -1", "above 0"),
        ("modular", "template", "0, 0, 0, 0, 0, 0", "flat"),
    ],
)
def test_a_message_stands_beside_the_field_and_nothing_is_lost(lab, page, case, control, value, words):
    page.open(f"{lab.url}/staircase?case={case}").ready()
    page.set("seed", "11")
    page.set(control, value)
    page.until(f"!document.querySelector('#e-{control}').hidden", 120)
    page.until(f"document.querySelector('#e-{control}').textContent.includes({words!r})", 120)
    assert page.js("return document.querySelector('[name=seed]').value") == "11"
    assert page.js(f"return document.querySelector('[name={control}]').value") == value
    assert page.js("return document.querySelector('#run').disabled")


def test_pasted_data(lab, page):
    page.open(f"{lab.url}/staircase?case=diagonal").ready()
    predicted(page)
    bad = "x y\n1 2\n3 abc"
    page.js("document.querySelector('#f-data').value = arguments[0]", bad)
    page.click("#use-data")
    page.until("!document.querySelector('#e-data').hidden")
    assert "line 3 has 'abc'" in page.text("#e-data")
    assert page.js("return document.querySelector('#f-data').value") == bad
    rows = "\n".join(f"{i % 3 - 1} {i % 5 - 2} {3 * (i % 3 - 1) - 0.5 * (i % 5 - 2)}" for i in range(15))
    page.js("document.querySelector('#f-data').value = arguments[0]", rows)
    page.click("#use-data")
    page.until("document.querySelector('#data-state').textContent.includes('15 rows, 3 columns')")
    page.until("document.querySelector('#jumps').textContent === '2'", 120)
    assert "data=" in page.js("return location.search")
    page.driver.refresh()
    page.ready()
    predicted(page)
    assert page.text("#jumps") == "2"
    assert page.js("return document.querySelector('#f-data').value.split('\\n').length") >= 15


def test_a_template_is_drawn_and_its_flow_can_be_stopped(lab, page):
    page.open(f"{lab.url}/staircase?case=modular").ready()
    predicted(page, 180)
    assert page.js("return document.querySelectorAll('#draw input').length") == 10
    page.js(
        "const s = document.querySelectorAll('#draw input')[2]; s.value = 2;"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    page.until("location.search.includes('1.5%2C+0.65%2C+2')")
    page.click("#waves")
    before = page.js("return document.body.dataset.predicted")
    page.set("alpha", "0.001")  # long enough to be stopped
    page.until(f"!['', '{before}'].includes(document.body.dataset.predicted)", 180)
    page.until("document.querySelector('#run-state').textContent === 'not run'")
    page.click("#run")
    page.until("Number(document.body.dataset.points) > 3", 240)
    page.click("#stop")
    page.until("document.querySelector('#run-state').textContent === 'stopped'", 120)
    assert page.js("return document.querySelector('#stop-hint').checkVisibility()")
    assert "begins again from the start" in page.text("#stop-hint")
    assert not page.errors()


def test_names_with_markup_are_text(lab, page):
    page.open(f"{lab.url}/staircase?case=%3Cimg%20src%3Dx%3E&values=%3Cb%3E").ready()
    page.until("!document.querySelector('#e-case').hidden", 120)
    assert page.js("return document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(lab, page, dark, width):
    page.look(width=width, dark=dark)
    page.open(f"{lab.url}/staircase?{QUICK}").ready()
    predicted(page)
    if not page.js("return document.body.dataset.result"):
        page.until("!document.querySelector('#run').disabled")
        page.js("document.querySelector('#run').click()")
        page.until("document.body.dataset.result", 180)
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.until("document.querySelector('details.numbers table')")
    page.fits(width)
    assert not page.violations()
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = false; })")
    page.shot(f"staircase-{'dark' if dark else 'light'}-{width}")
