"""Explain a wrong spec: one line per problem, with the field, the given value and the allowed values."""

import json
import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from firstlight._suggest import closest
from firstlight.records._shorten import shorten

_LINE, _LINE_BYTES, _BYTES = 500, 900, 1900
_EXPLAINED = 20


class SpecError(ValueError):
    """Raised for an invalid run specification; `problems` holds one line per problem.

    Long lines are cut in the middle, and lines beyond 2 KB are only counted:

    >>> error = SpecError([f"field {i}: " + "x" * 10**6 for i in range(9)])
    >>> len(str(error)) < 2048, error.problems[-1]
    (True, '… and 6 more')
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = _bounded(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type["SpecError"], tuple[tuple[str, ...]]]:
        return SpecError, (self.problems,)  # otherwise pickle, between processes, would pass the text as problems


class Place(NamedTuple):
    """The location of a pydantic error: the path that a user would write, its type, and its model."""

    path: str
    annotation: Any
    constraints: tuple[Any, ...]
    owner: type[BaseModel]
    variants: tuple[type[BaseModel], ...]


def explain(error: ValidationError, model: type[BaseModel]) -> SpecError:
    """Translate pydantic's problems with a `model` into messages for users."""
    problems = error.errors(include_url=False)
    lines = [_line(problem, model) for problem in problems[:_EXPLAINED]]
    return SpecError([*lines, *([_more(len(problems) - _EXPLAINED)] if len(problems) > _EXPLAINED else [])])


def locate(model: type[BaseModel], location: Sequence[int | str]) -> Place:
    """Follow pydantic's location through the types and leave out the tags of unions.

    >>> from firstlight.records._spec import RunSpec
    >>> locate(RunSpec, ("task", "group", "frac")).path
    'task.frac'
    """
    path, annotation, constraints = "", model, ()
    owner, variants = model, ()
    for segment in location:
        annotation, constraints = _unwrap(annotation, constraints)
        options = _models(annotation)
        if len(options) > 1:
            annotation = next(option for option in options if _tag(option) == segment)
            owner, variants = annotation, options
            continue
        if len(options) == 1:
            variants = variants if options[0] is owner else ()
            owner = options[0]
            field = owner.model_fields.get(str(segment))
            path = f"{path}.{segment}" if path else str(segment)
            annotation, constraints = (field.annotation, tuple(field.metadata)) if field else (None, ())
        elif isinstance(segment, int):
            path += f"[{segment}]"
            annotation, constraints = (get_args(annotation) or (None,))[0], ()
        elif segment != "[key]":
            path += f".{segment}"
            annotation, constraints = (get_args(annotation) or (None,))[-1], ()
    return Place(path, annotation, constraints, owner, variants)


def allowed(annotation: Any, constraints: Sequence[Any] = ()) -> str:
    """Describe in words which values a field accepts.

    >>> from firstlight.records._spec import Count, Loss
    >>> allowed(Count), allowed(Loss.model_fields["reduction"].annotation)
    ('a whole number > 0', 'one of "mean", "sum"')
    """
    annotation, constraints = _unwrap(annotation, tuple(constraints))
    options = _models(annotation)
    if len(options) > 1:
        return f"a table with kind = {_list([_tag(option) for option in options], ' or ')}"
    if options:
        return f"a table with the fields {', '.join(options[0].model_fields)}"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return f"one of {_list(arguments)}"
    if origin in (Union, types.UnionType):
        words = [allowed(a, constraints) for a in arguments if a is not type(None)]
        return " or ".join(words) + (", or left out" if type(None) in arguments else "")
    if origin is tuple:
        length = "".join(f" with at least {c.min_length} of them" for c in constraints if _is_minimum(c))
        return f"a list (each {allowed(arguments[0])}){length}"
    if origin is dict:
        return f"a table of names (each {allowed(arguments[1])})"
    names = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}
    return names.get(annotation, "something else") + _bounds(constraints)


def _bounded(problems: Sequence[str]) -> tuple[str, ...]:
    lines: list[str] = []
    room = _BYTES
    for i, problem in enumerate(problems):
        line = _printable(shorten(problem, _LINE))
        if len(line.encode()) > _LINE_BYTES:
            line = shorten(line, _LINE_BYTES // 4)
        room -= len(line.encode()) + 1
        if room < 0:
            return (*lines, _more(len(problems) - i))
        lines.append(line)
    return tuple(lines)


def _more(count: int) -> str:
    return f"… and {count} more"


def _printable(text: str) -> str:
    """Return the text on one line, with control characters and lone surrogates written as escapes."""
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if text.isprintable() else "".join(escaped)


def _line(problem: Any, model: type[BaseModel]) -> str:
    place, kind, given = locate(model, problem["loc"]), problem["type"], problem["input"]
    if kind == "extra_forbidden":
        hint = _guess(place, str(problem["loc"][-1]), model)
        return f"{place.path}: unknown field (got {_short(given)}); {hint}"
    if kind == "missing":
        return f"{place.path}: missing; give {allowed(place.annotation, place.constraints)}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tags = [_tag(option) for option in _models(place.annotation)]
        tag = given.get("kind")
        return f"{place.path}.kind: got {_short(tag)}; allowed is one of {_list(tags)}{_meant(tag, tags)}"
    if kind == "value_error" and not place.path:
        return str(problem["ctx"]["error"])  # the error names its field, which the spec itself does not have
    if kind == "value_error":
        return f"{place.path}: {problem['ctx']['error']} (got {_short(given)})"
    if kind == "invalid_key":
        return f"{place.path}: got {_short(given)}; allowed is text as the name of a field"
    if kind == "string_pattern_mismatch":
        return f"{place.path}: got {_short(given)}; allowed is text matching {problem['ctx']['pattern']}"
    choices = get_args(place.annotation) if get_origin(place.annotation) is Literal else ()
    said = allowed(place.annotation, place.constraints)
    return f"{place.path}: got {_short(given)}; allowed is {said}{_meant(given, choices)}"


def _guess(place: Place, key: str, model: type[BaseModel]) -> str:
    parent = place.path[: -len(key)]
    close = _similar(key, list(place.owner.model_fields))
    if close:
        return f"did you mean {parent}{close}?"
    elsewhere = [_tag(v) for v in place.variants if key in v.model_fields and v is not place.owner]
    if elsewhere:
        here, there = _list([_tag(place.owner)]), _list(elsewhere, " or ")
        return f"it belongs to {parent}kind = {there}, and this is {here}"
    paths = {path.rpartition(".")[2]: path for path in _leaves(model)}
    close = _similar(key, list(paths))
    if close:
        return f"did you mean {paths[close]}?"
    return f"the fields here are {', '.join(place.owner.model_fields)}"


def _similar(key: str, names: Sequence[str]) -> str:
    """Return the name meant by a misspelling, a prefix (`frac`) or initials (`lr`); "" if there is none."""
    close = closest(key, names, cutoff=0.75)
    begun = [name for name in names if len(key) > 2 and name.startswith(key)]
    initials = [name for name in names if "_" in name and key == "".join(word[0] for word in name.split("_"))]
    return close or next(iter(begun + initials), "")


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        options = _models(_unwrap(field.annotation, ())[0])
        if not options and name != "kind":
            yield prefix + name
        for option in reversed(options):
            yield from _leaves(option, f"{prefix}{name}.")


def _unwrap(annotation: Any, constraints: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    while get_origin(annotation) is Annotated:
        annotation, *extra = get_args(annotation)
        for item in extra:
            constraints += tuple(item.metadata) if isinstance(item, FieldInfo) else (item,)
    return annotation, constraints


def _models(annotation: Any) -> tuple[type[BaseModel], ...]:
    is_union = get_origin(annotation) in (Union, types.UnionType)
    options = get_args(annotation) if is_union else (annotation,)
    return tuple(o for o in options if isinstance(o, type) and issubclass(o, BaseModel))


def _tag(model: type[BaseModel]) -> str:
    return str(model.model_fields["kind"].default)


def _is_minimum(constraint: Any) -> bool:
    return isinstance(constraint, annotated_types.MinLen)


def _bounds(constraints: Sequence[Any]) -> str:
    signs = {
        annotated_types.Gt: ">",
        annotated_types.Ge: "≥",
        annotated_types.Lt: "<",
        annotated_types.Le: "≤",
    }
    bounds = [f"{signs[type(c)]} {getattr(c, type(c).__name__.lower())}" for c in constraints if type(c) in signs]
    return f" {' and '.join(bounds)}" if bounds else ""


def _list(words: Sequence[Any], last: str = ", ") -> str:
    quoted = [json.dumps(word, ensure_ascii=False) for word in words]
    return last.join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]


def _meant(given: Any, choices: Sequence[Any]) -> str:
    close = closest(given, map(str, choices)) if isinstance(given, str) else ""
    return f"; did you mean {_list([close])}?" if close else ""


def _short(value: Any, limit: int = 70) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except (ValueError, RecursionError):  # an integer of over 4300 digits, or a list that contains itself
            text = type(value).__name__
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
