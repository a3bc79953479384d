"""Walk through a page with the tab key."""

ROUNDS = 6
"""Walks at most: a list that is drawn again on the way needs another one."""


def press(page, *keys):
    """Press keys one after the other, whatever has the focus.

    A key of the keyboard goes to the page; a key for an element fails if the page draws that element again.
    """
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(page.driver).send_keys(key).perform()


def unreachable(page, but=""):
    """Return the beginning of every visible control that the tab key does not reach.

    **Arguments:**

    - `but`: a selector of controls that other keys reach.
    """
    for _ in range(ROUNDS):
        missed = _missed(page, but or "nothing")
        if missed is not None:
            return missed
    raise AssertionError(f"the page drew its controls again in each of {ROUNDS} walks")


def _missed(page, but):
    """Walk once; return what was not reached, or None if controls were replaced on the way."""
    from selenium.webdriver.common.keys import Keys

    wanted = set(page.js(
        "return Array.from(document.querySelectorAll('a[href],button,input,select,textarea,summary'))"
        ".filter((e) => e.checkVisibility() && !e.disabled && e.type !== 'hidden' && !e.matches(arguments[0]))"
        ".map((e, i) => (e.dataset.place = String(i)))", but
    ))  # fmt: skip
    reached = set()
    for _ in range(len(wanted) + 25):
        press(page, Keys.TAB)
        place = page.js("return document.activeElement.dataset.place")
        if place is not None:
            reached.add(place)
    missed = page.js(
        "return arguments[0].map((i) => document.querySelector(`[data-place='${i}']`))"
        ".map((e) => (e?.checkVisibility() && !e.disabled ? e.outerHTML.slice(0, 80) : null))",
        sorted(wanted - reached),
    )
    return None if None in missed else missed
