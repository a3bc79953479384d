"""Room 5 in a real browser: filter, open, check again, axe."""

import time

import pytest


def test_filter_search_and_open_a_claim(lab, page):
    page.open(f"{lab.url}/court").ready()
    total = page.js("return document.querySelectorAll('table.claims tbody tr:not([hidden])').length")
    page.set("text", "lemma cogo")
    shown = page.until("document.querySelectorAll('table.claims tbody tr:not([hidden])').length")
    assert 0 < shown < total
    assert "text=lemma" in page.js("return location.search")
    page.driver.refresh()
    page.ready()
    assert page.js("return document.querySelectorAll('table.claims tbody tr:not([hidden])').length") == shown
    page.set("text", "no such claim")
    page.until("!document.querySelector('#none').hidden")
    page.click("#reset")
    page.click("a[href='/court/cogo.lemma-3']")
    page.until("document.querySelector('#rerun')")
    assert page.js("return document.querySelectorAll('svg a').length") > 0
    assert not page.errors()


def test_a_claim_is_checked_again_with_its_verdict_on_the_page(lab, page):
    page.open(f"{lab.url}/court/cogo.lemma-3").ready()
    page.click("#rerun")
    page.until("document.body.dataset.checked", 120)
    assert "Checked on this machine" in page.text("#own")
    assert "holds" in page.text("#own .badge")
    page.driver.refresh()
    assert "Checked on this machine" in page.text("#own")


def test_a_check_that_is_over_between_two_events_is_shown_every_time(lab, page):
    """Only its turn tells that a job ran again if it ended as it had ended before."""
    page.open(f"{lab.url}/court/cogo.lemma-3").ready()
    for _ in range(2):
        page.js("delete document.body.dataset.checked; document.querySelector('#own').replaceChildren()")
        page.until("!document.querySelector('#rerun').disabled")
        hide(page, True)
        turns = [job["turn"] for job in lab.jobs() if job["id"] == "claim:cogo.lemma-3"]
        page.js("document.querySelector('#rerun').click()")
        until_finished(lab, turns)
        hide(page, False)
        page.until("document.body.dataset.checked", 120)
        assert "Checked on this machine" in page.text("#own")


def hide(page, is_hidden):
    """Close the stream of a tab as a browser does that shows another tab, or open it again."""
    page.js("Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true})", is_hidden)
    page.js("document.dispatchEvent(new Event('visibilitychange'))")


def until_finished(lab, turns, seconds=120.0):
    end = time.monotonic() + seconds
    while not any(
        job["id"] == "claim:cogo.lemma-3" and job["turn"] not in turns and job["state"] == "finished"
        for job in lab.jobs()
    ):
        assert time.monotonic() < end, lab.jobs()
        time.sleep(0.1)


@pytest.mark.parametrize("path", ["/court", "/court/li2.theorem-2"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(lab, page, path, dark, width):
    page.look(width=width, dark=dark)
    page.open(f"{lab.url}{path}").ready()
    page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.fits(width)
    assert not page.violations()
    name = "claim" if "." in path else "court"
    page.shot(f"{name}-{'dark' if dark else 'light'}-{width}")
