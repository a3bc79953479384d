"""Parse JSON and TOML to plain values; invalid text raises a `ValueError` with the reason."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.records._shorten import shorten

DEEPEST = 64
"""Largest nesting depth of tables and lists; a spec needs five, a figure of panels eight."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    >>> parse_json('{"seed": 1, "seed": 2}')
    Traceback (most recent call last):
    ValueError: the key "seed" is given twice; leave out one of the two
    """
    try:
        value = json.loads(text, object_pairs_hook=_unrepeated)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    require_plain(value)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text.

    >>> parse_toml("a.b = 1")
    {'a': {'b': 1}}
    """
    _require_short_keys(text)
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    require_plain(value)
    return value


def require_plain(value: Any) -> None:
    """Raise `ValueError` for values nested deeper than `DEEPEST`, and for text that no file can hold.

    >>> require_plain({"name": "\\ud800"})
    Traceback (most recent call last):
    ValueError: text must be Unicode characters; got '\\ud800', which holds half of a character. Write the text again
    """
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise ValueError(_too_deep())
        for item in level:
            if isinstance(item, str):
                require_text(item)
        level = [inner for item in level for inner in _inside(item)]
        depth += 1


def require_text(text: str) -> None:
    """Raise `ValueError` for lone surrogates, which JSON and a command line can hold but a UTF-8 file cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"text must be Unicode characters; got {shorten(ascii(text), 80)}, which holds half of a character. "
            "Write the text again"
        ) from None


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        return [*item.keys(), *item.values()]
    return item if isinstance(item, list | tuple) else ()


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shorten(json.dumps(twice), 80)} is given twice; leave out one of the two")
    return table


def _require_short_keys(text: str) -> None:
    # tomllib takes time quadratic in the number of parts of a dotted key.
    for line in text.splitlines():
        *keys, last = line.split("=")
        keys += [last] if line.lstrip().startswith("[") and "," not in line else []
        if any(key.count(".") > DEEPEST for key in keys):
            raise ValueError(_too_deep())


def _too_deep() -> str:
    return f"tables and lists may be nested at most {DEEPEST} deep; got more. Write the values flatter"
