"""Room 6 in a real browser: a table, its target, the comparison; a probe layer by layer; wrong files; axe."""

import time

import numpy as np
import pytest

from firstlight.records import STAIRCASE, Store
from tests.browser.keyboard import unreachable
from tests.lab.curve import write_curve


@pytest.fixture(scope="module")
def tables(lab):
    """Files in the folder of the lab: a table, one without a target, a file that is no table, and a saved probe."""
    x = np.random.default_rng(0).standard_normal((80, 3))
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{'red' if a * b > 0 else 'blue'}" for a, b, c in x]
    (lab.tables / "colours.csv").write_text("\n".join(["a,b,<i>c</i>,colour", *rows]) + "\n")
    write_curve(lab.tables / "curve.csv")
    (lab.tables / "constant.csv").write_text("a,b\n" + "1,2\n" * 9)
    (lab.tables / "broken.csv").write_bytes(b"\xff\xfe\x00\x01")
    (lab.tables / "weights.safetensors").write_bytes(b"\x00" * 30)
    torch = pytest.importorskip("torch")
    from firstlight import probes

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    with probes.FeatureProbe(model, torch.nn.MSELoss(), weight_decay=0.1) as probe:
        probe.step(torch.randn(64, 3), torch.randn(64, 1))
    probe.result().save(lab.tables / "mine.safetensors")
    return lab.tables


def choose(page, name):
    """Choose a file of the menu by its name."""
    page.js(
        "const s = document.querySelector('[name=file]');"
        "s.value = Array.from(s.options).find((o) => o.textContent.startsWith(arguments[0])).value;"
        "s.dispatchEvent(new Event('input', {bubbles: true}))",
        name,
    )


def open_bench(lab, page, query=""):
    page.open(f"{lab.url}/bench{query}").ready()
    page.until("document.body.dataset.files")


def compare(lab, page):
    open_bench(lab, page)
    choose(page, "curve.csv")
    page.until("document.body.dataset.columns", 120)
    page.set("target", "y")
    page.set("folds", "2")
    page.click("#fit")
    return page.until("document.body.dataset.fit", 300)


@pytest.fixture(scope="module")
def fitted(lab, tables, only_driver):
    """The id of a comparison in the store."""
    from tests.browser.conftest import Page

    return compare(lab, Page(only_driver))


def test_methods_are_compared_on_a_table_and_recorded(lab, page, tables):
    id = compare(lab, page)
    shown = page.text("#result")
    for words in ("RFM", "kernel ridge", "gradient boosting", "Which columns matter", "Top directions of M"):
        assert words in shown
    assert page.js("return document.querySelectorAll('#result svg').length") >= 4
    assert page.js("return document.querySelectorAll('#result details.numbers').length") >= 4
    with Store(lab.store) as store:
        methods = {record.params["method"] for record in store.fits() if record.estimator != STAIRCASE}
    assert methods == {"RFM", "kernel ridge", "gradient boosting"}
    assert f"fit={id}" in page.js("return location.search")
    assert "target=y" in page.js("return location.search")
    page.driver.refresh()
    page.ready()
    assert page.until("document.body.dataset.fit", 120) == id
    page.until("document.body.dataset.columns", 120)
    assert page.js("return document.querySelector('[name=target]').value") == "y"
    page.until("document.querySelector('#fits a[href^=\"/bench?fit=\"]')")
    assert "attachment" in page.js(
        "return fetch(document.querySelector('#export-fit').href).then((r) => r.headers.get('content-disposition'))"
    )
    assert not page.errors()
    page.shot("bench-light-1280")


@pytest.mark.parametrize(
    ("name", "words"), [("constant.csv", "no column of this table can be a target"), ("broken.csv", "cannot be read")]
)
def test_a_file_that_is_no_use_is_refused_beside_the_field(lab, page, tables, name, words):
    open_bench(lab, page)
    page.set("seed", "11")
    choose(page, name)
    page.until("!document.querySelector('#e-file').hidden", 120)
    assert words in page.text("#e-file")
    assert page.js("return document.querySelector('[name=seed]').value") == "11"
    assert page.js("return document.querySelector('#fit').disabled")


def test_a_file_that_disappears_is_named_and_the_setting_stays(lab, page, tables):
    (tables / "gone.csv").write_text((tables / "colours.csv").read_text())
    open_bench(lab, page)
    choose(page, "gone.csv")
    page.until("document.body.dataset.columns", 120)
    page.set("target", "colour")
    (tables / "gone.csv").unlink()
    page.click("#fit")
    page.until("!document.querySelector('#e-file').hidden", 120)
    assert "gone.csv is not in the folder any more" in page.text("#e-file")
    assert page.js("return document.querySelector('[name=target]').value") == "colour"


def test_wrong_numbers_are_named_beside_their_fields(lab, page, tables):
    open_bench(lab, page)
    choose(page, "colours.csv")
    page.until("document.body.dataset.columns", 120)
    page.set("folds", "1")
    page.click("#fit")
    page.until("!document.querySelector('#e-folds').hidden", 120)
    assert "from 2 to 10" in page.text("#e-folds")
    assert "choose a column" in page.text("#e-target")
    page.set("target", "a")
    assert page.js("return document.querySelectorAll('#f-target i').length") == 0  # names are text


def test_two_tabs_do_not_disturb_each_other(lab, page, tables):
    open_bench(lab, page)
    choose(page, "colours.csv")
    page.until("document.body.dataset.columns", 120)
    page.set("target", "a")
    page.set("folds", "3")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("window")
    try:
        open_bench(lab, page)
        other = page.driver.current_window_handle
        page.driver.switch_to.window(first)
        page.click("#fit")
        page.until("document.body.dataset.fit", 300)
        page.driver.switch_to.window(other)
        page.until("document.body.dataset.connection === 'open'", 60)
        time.sleep(1)  # what must not happen cannot be waited for
        assert page.text("#fit-state") == "not run"
        assert not page.js("return document.body.dataset.fit")
        page.driver.close()
    finally:
        page.driver.switch_to.window(first)


def test_a_saved_probe_is_opened_layer_by_layer(lab, page, tables):
    open_bench(lab, page)
    page.click("[aria-label='Open the probe weights.safetensors']")
    page.until("!document.querySelector('#e-probe').hidden", 120)
    assert "no saved probe" in page.text("#e-probe")
    page.click("[aria-label='Open the probe mine.safetensors']")
    id = page.until("document.body.dataset.probe", 180)
    assert page.js("return document.querySelectorAll('#probe details.layer').length") == 2
    page.click("#probe details.layer + details.layer summary")
    page.until("document.querySelector('#probe details.layer + details.layer').open")
    assert "2.weight" in page.text("#probe details.layer[open] summary")
    page.driver.refresh()
    page.ready()
    assert page.until("document.body.dataset.probe", 120) == id
    with Store(lab.store) as store:
        assert id in [record.id for record in store.probes()]
    assert not page.errors()


def test_everything_is_reached_by_the_keyboard(lab, page, fitted):
    open_bench(lab, page, f"?fit={fitted}")
    page.until("document.body.dataset.fit", 120)
    assert not unreachable(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(lab, page, fitted, dark, width):
    page.look(width=width, dark=dark)
    with Store(lab.store) as store:
        probe = next((f"&probe={record.id}" for record in store.probes()), "")
    open_bench(lab, page, f"?fit={fitted}{probe}")
    page.until("document.body.dataset.fit", 120)
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.fits(width)
    assert not page.violations()
    page.js("document.querySelectorAll('details.numbers').forEach((d) => { d.open = false; })")
    page.shot(f"bench-{'dark' if dark else 'light'}-{width}")
