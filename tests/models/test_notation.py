"""Every public name in docs/notation.md exists."""

import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "notation.md"


def _exists(name: str) -> bool:
    package, *path = name.split(".")
    here = importlib.import_module(f"firstlight.{package}")
    for part in path:
        if is_dataclass(here) and part in {field.name for field in fields(here)}:
            return True
        if not hasattr(here, part):
            return False
        here = getattr(here, part)
    return True


def test_every_public_name_of_the_notation_page_exists():
    names = set(re.findall(r"`((?:models|tasks|groups)\.[A-Z_a-z.]+)`", PAGE.read_text(encoding="utf-8")))
    assert len(names) > 15
    assert [name for name in sorted(names) if not _exists(name)] == []
