"""Look at the built site in a real browser: axe-core, a narrow screen, the search, and no request to anywhere.

It needs Debian's chromium and chromium-driver and the extra `browser`; otherwise it is skipped with the reason. A page
that was found without a problem is looked at again only if it, a style, a script or this module has changed.
"""

import base64
import hashlib
import json
import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DRIVER, BROWSER = Path("/usr/bin/chromedriver"), Path("/usr/bin/chromium")
PAGES = (
    "index.html",
    "tutorial.html",
    "li2.html",
    "sweeps.html",
    "glossary.html",
    "claims.html",
    "gallery/index.html",
    "gallery/grokking/plot_grokking_s4.html",
    "reference/spec.html",
    "reference/cli.html",
    "reference/api-rfm.html",
)
NARROW = 390


def absent() -> str:
    """Return what is missing for a look, or ''."""
    paths = [str(path) for path in (DRIVER, BROWSER) if not path.exists()]
    return ", ".join(paths + [name for name in ("selenium", "axe_playwright_python") if find_spec(name) is None])


def start() -> Any:
    """Start chromium without a window; no name of a host resolves in it."""
    os.environ["SE_OFFLINE"] = "true"
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    words = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    for word in (*words, "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    driver.set_script_timeout(120)
    return driver


def show(driver: Any, width: int, dark: bool) -> None:
    """Set the width of the screen and the colour scheme of the reader."""
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    time.sleep(0.3)


def violations(driver: Any) -> list[str]:
    """Return what axe-core finds on the page, one line each."""
    import axe_playwright_python

    driver.execute_script((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    outcome = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run().then(done, (e) => done({violations: [], error: String(e)}))"
    )
    lines = [f"axe: {outcome['error']}"] if "error" in outcome else []
    for rule in outcome["violations"]:
        lines += [f"{rule['id']} at {node['target']}: {node['html'][:160]}" for node in rule["nodes"][:3]]
    return lines


def look(site: Path, shots: Path | None = None, known: Path | None = None) -> tuple[list[str], int]:
    """Look at the main pages in light, dark and narrow; return one line for each problem, and the number of pages seen.

    **Arguments:**

    - `site`: the folder of the built site.
    - `shots`: a folder for pictures of all pages; None draws none.
    - `known`: a file with the digests of the pages that had no problem, which are left out; None looks at all pages.
    """
    digests = {name: digest(site, name) for name in PAGES}
    clean = {} if known is None or shots else _read(known)
    changed = [name for name in PAGES if clean.get(name) != digests[name]]
    driver, lines = start(), []
    try:
        for name in changed:
            faults = _problems(driver, site, name, shots)
            lines += faults
            clean.pop(name, None)
            clean |= {} if faults else {name: digests[name]}
        lines += _search(driver, site)
        outside = driver.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
        lines += [f"requested {address}" for address in outside if not address.startswith(("file:", "data:"))]
    finally:
        driver.quit()
    if known is not None:
        known.write_text(json.dumps(clean, indent=1), encoding="utf-8")
    return lines, len(changed)


def digest(site: Path, name: str) -> str:
    """Return the digest of a page with the styles and scripts of the site and with this module."""
    static = sorted(path for path in (site / "_static").rglob("*") if path.suffix in (".css", ".js"))
    content = hashlib.sha256()
    for path in (Path(__file__), site / name, *static):
        content.update(hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()


def _read(known: Path) -> dict[str, str]:
    try:
        return dict(json.loads(known.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _problems(driver: Any, site: Path, name: str, shots: Path | None) -> list[str]:
    lines: list[str] = []
    driver.get((site / name).as_uri())
    for width, dark in ((1280, False), (1280, True), (NARROW, False)):
        show(driver, width, dark)
        how = f"{name}, {width} px, {'dark' if dark else 'light'}"
        lines += [f"{how}: {line}" for line in violations(driver)]
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        lines += [f"{how}: the page is {wide} px wide"] if wide > width else []
        if shots:
            _shot(driver, shots / f"{name.replace('/', '-')[:-5]}-{width}{'-dark' if dark else ''}.png")
    return lines


def _search(driver: Any, site: Path) -> list[str]:
    driver.get((site / "search.html").as_uri() + "?q=grokking")
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if driver.execute_script("return document.querySelectorAll('#search-results li a').length") > 3:
            return []
        time.sleep(0.2)
    return ["search.html: the word grokking has no results without a server"]


def _shot(driver: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": False})
    path.write_bytes(base64.b64decode(taken["data"]))
