"""Networks that the forecast does not cover: the page says so, trains them and exports the run."""

import pytest

QUICK = "group=Z5&fraction=0.8&width=16&activation=relu&optimizer=adam&rate=0.01&decay=0.001&steps=20&seed=1&model={}"


@pytest.mark.parametrize("model", ["embedding", "transformer"])
def test_a_network_without_forecast_is_trained_and_exported(lab, page, model):
    page.open(f"{lab.url}/grok?{QUICK.format(model)}").ready()
    page.until("document.querySelector('#forecast-state').textContent === 'not covered'", 180)
    assert "measured on two-layer networks" in page.text("#forecast-story")
    assert page.text("#chance") == "–"
    page.until("!document.querySelector('#train').disabled")
    page.click("#train")
    id = page.until("document.body.dataset.result", 300)
    assert page.js("return document.querySelectorAll('#scoreboard tbody tr').length") == 5
    assert page.text("#run-state") == "finished"
    text = page.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; fetch(document.querySelector('#export').href)"
        ".then((answer) => answer.text()).then(done)"
    )
    assert id[:12] in text
    assert "it loads nothing from the network" in text
    assert not page.errors()
