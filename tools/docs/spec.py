"""Write the table of every field that a run spec has: range, default and meaning."""

import re
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from firstlight import records

# Each part of a spec with its heading, in the order of a TOML file.
PARTS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("", "The run", records.RunSpec),
    ("task", 'A group: `task.kind = "group"`', records.GroupTask),
    ("task", 'Parity: `task.kind = "parity"`', records.ParityTask),
    ("task", 'Your arrays: `task.kind = "arrays"`', records.ArraysTask),
    ("task.split", "The training rows: `task.split`", records.SplitSpec),
    ("model", 'Two layers: `model.kind = "two_layer"`', records.TwoLayerModel),
    ("model", 'Deep: `model.kind = "deep"`', records.DeepModel),
    ("model", 'Transformer: `model.kind = "transformer"`', records.TransformerModel),
    ("model", 'Embedding: `model.kind = "embedding"`', records.EmbeddingModel),
    ("loss", "The loss: `loss`", records.Loss),
    ("optimizer", "The optimizer: `optimizer`", records.Optimizer),
    ("optimizer.schedule", "The schedule: `optimizer.schedule`", records.Schedule),
    ("recording", "What is recorded: `recording`", records.Recording),
    ("stop", "When to stop early: `stop`", records.Stop),
)
_BULLET = re.compile(r"^- `(\w+)`: (.+?)(?=^- `|\Z)", re.MULTILINE | re.DOTALL)
_INTRO = """\
# Every field of a spec

A spec is a TOML or JSON file, or a mapping in Python, that describes one run. What it does not name has the default
below. `--set` on the command line changes a field, as in `firstlight run spec.toml --set task.group=S4`. A wrong name,
a wrong type or a value out of range is refused before anything runs, with the field, what was given and what is
allowed.

```toml
steps = 300
lenses = ["li2"]
[task]
group = "Z23"
split.fraction = 0.6
[optimizer]
weight_decay = 1e-3
```

`preset = "nanda"` or `preset = "power"` fills in published settings, which the other fields change; see
[transformers](../transformers.md#fields-of-a-spec). Sweeps have a spec of their own, with such a run as `base`; see
[sweeps](../sweeps.md).
"""


def spec_page() -> str:
    """Return the page with one table per part of a spec."""
    sections = [_INTRO]
    for prefix, heading, model in PARTS:
        sections.append(f"## {heading}\n\n{first_sentence(model)}\n")
        rows = ["| field | values | default | meaning |", "|---|---|---|---|"]
        meanings = meanings_of(model)
        for name, field in model.model_fields.items():
            path = f"{prefix}.{name}" if prefix else name
            cells = (f"`{path}`", values_of(field), default_of(field), meanings[name])
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        sections.append("\n".join(rows) + "\n")
    return "\n".join(sections)


def first_sentence(model: type[BaseModel]) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((model.__doc__ or "").partition("\n\n")[0].split())


def meanings_of(model: type[BaseModel]) -> dict[str, str]:
    """Return field → meaning from the bullets under `**Attributes:**`; a field without one is an error.

    >>> meanings_of(records.Optimizer)["weight_decay"]
    'the coefficient wd.'
    """
    text = "\n".join(
        line.strip() if line.strip().startswith("- ") else line for line in (model.__doc__ or "").splitlines()
    )
    bullets = text.partition("**Attributes:**")[2].partition("\n    >>>")[0]
    meanings = {}
    for name, words in _BULLET.findall(bullets):
        meanings[name] = " ".join(words.partition("\n\n")[0].split())
    missing = [name for name in model.model_fields if name not in meanings]
    if missing:
        raise ValueError(f"{model.__name__} must explain {', '.join(missing)} under **Attributes:** in its docstring")
    return meanings


def default_of(field: FieldInfo) -> str:
    """Return the default as TOML would write it; parts of a spec have a table of their own."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, records.SplitSpec):
        return f"`fraction = {value.fraction}`"
    if isinstance(value, BaseModel):
        return "see below"
    if value is None:
        return "none"
    written = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    return f"`{written or _toml(value)}`"


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return "{}" if value == {} else f"{value:g}" if isinstance(value, float) else str(value)


def values_of(field: FieldInfo) -> str:
    """Return the admitted values of a field in words.

    >>> values_of(records.Optimizer.model_fields["beta1"])
    'number, ≥ 0, < 1'
    """
    return _words(field.annotation, tuple(field.metadata))


def _words(kind: Any, metadata: tuple[Any, ...] = ()) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _words(arguments[0], (*arguments[1:], *metadata))
    if origin is Literal:
        return ", ".join(f'`"{word}"`' for word in arguments)
    if origin is Union or str(origin) == "<class 'types.UnionType'>":
        inner = [part for part in arguments if part is not type(None)]
        if all(isinstance(part, type) and issubclass(part, BaseModel) for part in inner):
            return "a table"
        return " or ".join(_words(part, metadata) for part in inner)
    if origin is tuple:
        return f"list of {_words(arguments[0])}" + ("" if not metadata else _bounds(metadata))
    if origin is dict:
        return "table: name = number"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "a table"
    name = {int: "whole number", float: "number", bool: "`true`, `false`", str: "text"}[kind]
    return name + _bounds(metadata)


def _bounds(metadata: tuple[Any, ...]) -> str:
    signs = {Gt: (">", "gt"), Ge: ("≥", "ge"), Lt: ("<", "lt"), Le: ("≤", "le")}
    flat = [item for entry in metadata for item in getattr(entry, "metadata", [entry])]
    words = []
    for item in flat:
        if type(item) in signs:
            sign, attribute = signs[type(item)]
            words.append(f"{sign} {getattr(item, attribute)}")
        elif isinstance(item, MinLen):
            words.append(f"at least {item.min_length}")
    return "".join(f", {word}" for word in dict.fromkeys(words))
