"""Read specs from TOML and JSON files, mappings and `field=value` overrides, and write them as TOML."""

import copy
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from firstlight.records._explain import SpecError, explain, locate
from firstlight.records._identity import changed_fields
from firstlight.records._parsing import DEEPEST, parse_json, parse_toml, require_plain
from firstlight.records._shorten import shorten
from firstlight.records._spec import ALTERNATIVES, DEPENDENT, RunSpec

B = TypeVar("B")


def spec_from_mapping(mapping: Mapping[str, Any]) -> RunSpec:
    """Return a spec from plain nested values; a `SpecError` has one line per wrong field.

    >>> spec_from_mapping({"optimizer": {"lerning_rate": 0.1}})
    Traceback (most recent call last):
    firstlight.records._explain.SpecError: optimizer.lerning_rate: unknown field (got 0.1);
      did you mean optimizer.learning_rate?
    """
    values = dict(mapping)
    _require_plain(values)
    try:
        return RunSpec.model_validate(values)
    except ValidationError as error:
        raise explain(error, RunSpec) from None


def load_spec(path: str | os.PathLike[str]) -> RunSpec:
    """Read the spec of a run from a `.toml` or `.json` file."""
    return read_file(path, "a spec", spec_from_mapping)


def read_file(path: str | os.PathLike[str], what: str, build: Callable[[dict[str, Any]], B]) -> B:
    """Read a `.toml` or `.json` file and return `build(values)`; the problems in a `SpecError` name the file.

    **Arguments:**

    - `what`: the content of the file in words, for errors.
    - `build`: makes the result from the values; raises `SpecError` for invalid values.
    """
    file = Path(path)
    values = _read_mapping(file, what)
    try:
        return build(values)
    except SpecError as error:
        raise SpecError([f"{file}: {problem}" for problem in error.problems]) from None


def _read_mapping(file: Path, what: str) -> dict[str, Any]:
    readers = {".toml": parse_toml, ".json": parse_json}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise SpecError([f"{file}: {what} is a .toml or a .json file; got {file.suffix or 'no suffix'}"])
    try:
        # Reading a pipe or a device would never end.
        if file.exists() and not file.is_file():
            raise SpecError([f"{file}: {what} is a .toml or a .json file; got a folder, a pipe or a device"])
        values = reader(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([f"{file}: cannot be read ({error.strerror})"]) from None
    except SpecError:
        raise
    except ValueError as error:  # both parsers and the decoder raise its subclasses, with line and column
        problem = shorten(str(error), 300)
        raise SpecError([f"{file}: is not valid {file.suffix[1:].upper()}: {problem}"]) from None
    if not isinstance(values, dict):
        raise SpecError([f"{file}: {what} is a table of fields; got {type(values).__name__}"])
    return values


def apply_overrides(spec: RunSpec | Mapping[str, Any], overrides: Sequence[str]) -> RunSpec:
    """Return the spec with fields replaced by `path=value`; a value is TOML, or else plain text.

    Naming another `kind` drops the defaults of the old kind; fields that were set must fit the new kind.

    >>> spec = apply_overrides(RunSpec(), ["task.group=Z23", "model.kind=deep", "model.widths=64,64"])
    >>> spec.task.group, spec.model.widths
    ('Z23', (64, 64))
    """
    texts = dict(_split(override) for override in overrides)
    return _replaced(spec, {path: _parse(text) for path, text in texts.items()}, texts)


def parse_override(override: str) -> tuple[str, Any]:
    """Return path and value of `path=value`; a value is TOML, numbers with commas between, or else plain text.

    >>> parse_override("seeds=0,7"), parse_override("name=mine")
    (('seeds', [0, 7]), ('name', 'mine'))
    """
    path, text = _split(override)
    value = _parse(text)
    return path, _READINGS["tuple_type"](text) if isinstance(value, str) and "," in text else value


def replace_fields(spec: RunSpec, changes: Mapping[str, Any]) -> RunSpec:
    """Return the spec with fields replaced by plain values; `changes` maps dotted paths to values.

    >>> replace_fields(RunSpec(), {"task.group": "Z23", "model.width": 64}).task.group
    'Z23'
    """
    for path, value in changes.items():
        _require_no_null(path, value)
        _require_shallow(path)
    return _replaced(spec, copy.deepcopy(dict(changes)), {path: _value(value) for path, value in changes.items()})


def _replaced(spec: RunSpec | Mapping[str, Any], changes: Mapping[str, Any], texts: Mapping[str, str]) -> RunSpec:
    values = changed_fields(spec) if isinstance(spec, RunSpec) else copy.deepcopy(dict(spec))
    for path, value in changes.items():
        _assign(values, path.split("."), value, texts)
    _require_plain(values)
    try:
        return RunSpec.model_validate(values)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            path = locate(RunSpec, problem["loc"]).path
            if path in texts and problem["type"] in _READINGS:
                _assign(values, path.split("."), _READINGS[problem["type"]](texts[path]), texts)
    return spec_from_mapping(values)


def dump_toml(spec: RunSpec, *, full: bool = False) -> str:
    """Return the spec as TOML that `load_spec` reads back to the same spec; `full` writes the defaults too.

    >>> print(dump_toml(RunSpec(seed=3, optimizer={"learning_rate": 0.01})), end="")
    seed = 3
    <BLANKLINE>
    [optimizer]
    learning_rate = 0.01
    """
    values = spec.model_dump() if full else changed_fields(spec)
    return "\n".join(_table(values, ())).lstrip("\n") + "\n"


# A name made of digits, or a list written a,b,c: parsed again when the field is known to be text or a list.
_READINGS = {
    "string_type": lambda text: text,
    "tuple_type": lambda text: [_parse(part.strip()) for part in text.split(",")],
}


def _require_plain(values: Mapping[str, Any]) -> None:
    try:
        require_plain(values)
    except ValueError as error:
        raise SpecError([str(error)]) from None


def _require_shallow(path: str) -> None:
    if path.count(".") > DEEPEST:
        raise SpecError([f"override {shorten(path, 80)!r}: a field lies at most {DEEPEST} tables deep"])


def _require_no_null(path: str, value: Any) -> None:
    if value is None:
        raise SpecError([f"{path}: null is not a value; leave the field out of a point to keep the value of the base"])
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        _require_no_null(path, item)


def _split(override: str) -> tuple[str, str]:
    path, equals, text = override.partition("=")
    _require_shallow(path)
    if not equals or not path.strip():
        raise SpecError(
            [f"override {shorten(override)!r}: write it as field=value, such as optimizer.learning_rate=0.01"]
        )
    return path.strip(), text.strip()


def _parse(text: str) -> Any:
    try:
        return parse_toml(f"value = {text}")["value"]
    except (ValueError, KeyError):
        pass
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _assign(values: Any, keys: Sequence[str], value: Any, chosen: Mapping[str, str]) -> None:
    prefix = ".".join(keys[:-1])
    for depth, key in enumerate(keys[:-1]):
        values = _descend(values, key, ".".join(keys[: depth + 1]))
    key: Any = keys[-1]
    if isinstance(values, list):
        values[_index(values, key, ".".join(keys))] = value
        return
    for names in ALTERNATIVES:
        for other in names if key in names else ():
            if other != key and f"{prefix}.{other}" not in chosen:
                values.pop(other, None)
    if key in DEPENDENT and f"{prefix}.{DEPENDENT[key]}" not in chosen:
        values.pop(DEPENDENT[key], None)
    values[key] = value


def _descend(values: Any, key: str, path: str) -> Any:
    if isinstance(values, list):
        return values[_index(values, key, path)]
    if isinstance(values.get(key), tuple):
        values[key] = list(values[key])
    if not isinstance(values.get(key), dict | list):
        values[key] = {}
    return values[key]


def _index(values: list[Any], key: str, path: str) -> int:
    if key.isdecimal() and int(key) < len(values):
        return int(key)
    raise SpecError([f"{path}: there is no item {key}; the list has {len(values)} (the first is 0)"])


def _table(values: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    scalars = {key: value for key, value in values.items() if not isinstance(value, dict) and value is not None}
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in scalars.items()]
    if path and (lines or not tables):
        lines = ["", f"[{'.'.join(map(_key, path))}]", *lines]
    for key, value in tables.items():
        lines += _table(value, (*path, key))
    return lines


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = (f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {', '.join(inside)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value)


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _text(key)


def _text(text: str) -> str:
    # JSON escapes every character that TOML requires, except DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
