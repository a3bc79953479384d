"""`python -m tools.docs [--fresh] [--notebooks]`: build the site, check it, print how long each step took.

Exit code 0 if the site is complete, 1 if Sphinx warned or a page has a problem.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.docs import browser
from tools.docs.check import problems

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
SITE = BUILD / "site"
SHOTS = os.environ.get("FIRSTLIGHT_SCREENSHOTS")
MADE = (ROOT / "docs" / "reference", ROOT / "docs" / "gallery")


def build(site: Path, doctrees: Path) -> int:
    """Run Sphinx, warnings as errors, on one thread of matplotlib and at low priority; return its exit code."""
    words = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-n", "-d", str(doctrees)]
    environment = os.environ | {
        "MPLBACKEND": "agg",
        "PYTHONHASHSEED": "0",
        "JAX_PLATFORMS": "cpu",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run([*words, str(ROOT / "docs"), str(site)], cwd=ROOT, env=environment, check=False).returncode


def main(words: Sequence[str] | None = None) -> int:
    """Build, then check every page."""
    parser = argparse.ArgumentParser(prog="make docs", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget earlier builds and run every example again")
    parser.add_argument("--notebooks", action="store_true", help="execute the notebooks of the gallery instead")
    options = parser.parse_args(words)
    if options.notebooks:
        from tools.docs.notebooks import execute_all

        return execute_all()
    if options.fresh:
        for folder in (SITE, BUILD / "doctrees", *MADE):
            shutil.rmtree(folder, ignore_errors=True)
        (BUILD / "looked.json").unlink(missing_ok=True)
    started = time.monotonic()
    code = build(SITE, BUILD / "doctrees")
    print(f"Sphinx: {time.monotonic() - started:.0f} s, exit code {code}")
    started = time.monotonic()
    wrong = problems(SITE)
    print(f"links and files: {time.monotonic() - started:.0f} s, {len(wrong)} problems")
    if missing := browser.absent():
        print(f"look in a browser: skipped, {missing} missing")
    elif not code:
        started = time.monotonic()
        problems_seen, seen = browser.look(SITE, Path(SHOTS) if SHOTS else None, BUILD / "looked.json")
        took, total = time.monotonic() - started, len(browser.PAGES)
        print(f"look in a browser: {took:.0f} s, {seen} of {total} pages have changed, {len(problems_seen)} problems")
        wrong += problems_seen
    for line in wrong:
        print(line, file=sys.stderr)
    if not code and not wrong:
        print(f"open {SITE / 'index.html'}")
    return 1 if code or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
