"""Write the reference from the code: fields of a spec, commands, public names, and claims with their evidence."""

import hashlib
import shutil
from pathlib import Path

from firstlight._files import write_atomically
from tools.docs.api import api_pages
from tools.docs.spec import spec_page

_MADE = "<!-- Written by `make docs` from the code; do not edit. -->\n\n"
_COMMANDS = """\
# Every command

This page is the help text of the installed version, as `firstlight COMMAND --help` prints it.
[The command line](../cli.md) explains how the commands work together, their exit codes and where they store things.

## The commands
"""


def write(folder: Path) -> list[Path]:
    """Write every page of the reference that has changed, and remove pages of names that are gone."""
    pages = {"spec.md": spec_page(), "cli.md": cli_page(), **api_pages()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        path, text = folder / name, _MADE + text
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text.encode())
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    return [folder / name for name in pages]


def cli_page() -> str:
    """Return the help of every command, from cyclopts, as one page with a heading per command."""
    from firstlight.cli._tree import app

    text = app.generate_docs(output_format="markdown", recursive=True)
    body = text.partition("**Commands**:")
    commands = "\n".join(line for line in body[2].splitlines() if line.strip() != "**Commands**:")
    return _COMMANDS + commands


def write_claims(folder: Path) -> None:
    """Write one page per claim with its evidence and neighbourhood, unless nothing they show has changed."""
    from firstlight import claims, report

    stamp = _claims_digest()
    marker = folder / ".digest"
    if marker.exists() and marker.read_text(encoding="utf-8") == stamp:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    report.write_claims(folder, claims.all_claims())
    marker.write_text(stamp, encoding="utf-8")


def _claims_digest() -> str:
    import firstlight

    root = Path(firstlight.__file__).parent
    digest = hashlib.sha256()
    for part in ("claims", "report", "plots"):
        for path in sorted((root / part).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".json", ".html", ".css", ".safetensors"):
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
