"""Walk through a page with the tab key."""

ROUNDS = 6
"""Walks at most: a list that is drawn again on the way needs another one."""


def unreachable(page):
    """Return the beginning of every visible control that the tab key does not reach."""
    for _ in range(ROUNDS):
        missed = _missed(page)
        if missed is not None:
            return missed
    raise AssertionError(f"the page drew its controls again in each of {ROUNDS} walks")


def _missed(page):
    """Walk once; return what was not reached, or None if controls were replaced on the way."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    wanted = set(page.js(
        "return Array.from(document.querySelectorAll('a[href],button,input,select,textarea,summary'))"
        ".filter((e) => e.checkVisibility() && !e.disabled && e.type !== 'hidden')"
        ".map((e, i) => (e.dataset.place = String(i)))"
    ))  # fmt: skip
    reached = set()
    for _ in range(len(wanted) + 25):
        # A key of the keyboard goes to the page; a key for an element fails if the page draws that element again.
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        place = page.js("return document.activeElement.dataset.place")
        if place is not None:
            reached.add(place)
    words = "arguments[0].map((i) => document.querySelector(`[data-place='${i}']`)?.outerHTML.slice(0, 80) ?? null)"
    missed = page.js(f"return {words}", sorted(wanted - reached))
    return None if None in missed else missed
