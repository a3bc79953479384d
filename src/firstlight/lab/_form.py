"""A setting of the page as a form of short names, and the spec that it means.

The address of a page holds the whole form, and the spec gives the run its identity.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.records import RunSpec, SpecError, spec_from_mapping

GROUPS = ("Z11", "Z17", "Z23", "Z31", "Z41", "Z59", "Z71", "D5", "D7", "S3", "S4", "A4", "A5", "Q8", "Z3xZ7", "Z2^4")
"""Groups that the menu offers; any other name can be typed."""

ACTIVATIONS = ("quadratic", "relu", "silu", "tanh", "sigmoid", "linear", "power3", "leaky_relu(0.1)", "poly(1,0.5)")
OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "muon": "Muon"}
MODELS = {
    "two_layer": "two layers",
    "deep": "three layers",
    "embedding": "embedding and two layers",
    "transformer": "transformer, one layer",
}

ROWS = 200
"""Recorded rows of a run that the page starts, about: enough for a curve, few enough to be fast."""

MOST_STEPS, MOST_WIDTH = 200_000, 16_384
"""Limits of the page; `firstlight run` has none."""


@dataclass(frozen=True)
class Field:
    """A control of the form.

    **Attributes:**

    - `name`: the short name in the address.
    - `label`: the words beside the control.
    - `default`: the value of a new page, as text.
    - `path`: the field of the spec, for messages.
    - `kind`: "text", "number" or the choices of a menu.
    - `help`: one sentence for a reader who has not read the papers.
    - `least`, `most`, `step`: of a number.
    """

    name: str
    label: str
    default: str
    path: str
    kind: Any
    help: str
    least: float | None = None
    most: float | None = None
    step: str = "any"


FIELDS = (
    Field("group", "Group", "Z23", "task.group", "text", "The table to learn: Z23 is addition modulo 23."),
    Field("fraction", "Training fraction", "0.6", "task.split.fraction", "number",
          "Share of all pairs that the network is shown.", 0, 1, "0.01"),
    Field("width", "Hidden units", "256", "model.width", "number", "Width of the hidden layer.", 1, MOST_WIDTH, "1"),
    Field("activation", "Activation", "quadratic", "model.activation", ACTIVATIONS,
          "The nonlinearity of a hidden unit; quadratic is x²."),
    Field("model", "Model", "two_layer", "model.kind", MODELS,
          "One or two hidden layers, learned embeddings before one, or a layer of attention before one."),
    Field("optimizer", "Optimizer", "adam", "optimizer.name", OPTIMIZERS, "The rule that changes the weights."),
    Field("rate", "Learning rate", "0.002", "optimizer.learning_rate", "number", "Size of a step.", 0, 100),
    Field("decay", "Weight decay", "0.001", "optimizer.weight_decay", "number",
          "Pull of every weight towards zero. Without it, grokking is rare.", 0, 100),
    Field("steps", "Epochs", "1000", "steps", "number", "How long to train.", 1, MOST_STEPS, "1"),
    Field("seed", "Seed", "0", "seed", "number", "Which weights and which pairs are drawn.", 0, 2**32 - 1, "1"),
)  # fmt: skip
"""The controls in the order of the page."""

_WHOLE = ("width", "steps", "seed")


class FormError(ValueError):
    """The form is invalid; `problems` maps the name of a control to a message that stands beside it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{name}: {message}" for name, message in problems.items()))


def default_form() -> dict[str, str]:
    """Return the form of a new page.

    >>> default_form()["group"]
    'Z23'
    """
    return {field.name: field.default for field in FIELDS}


def spec_of(form: Mapping[str, str], *, snapshots: int = 40) -> RunSpec:
    """Return the spec of a form; a `FormError` says which control is wrong, and why.

    Lenses are not chosen here: which of them apply is known where JAX is loaded.

    >>> spec_of({"group": "Z11", "width": "64"}).model.width
    64
    >>> spec_of({"width": "0"})
    Traceback (most recent call last):
    firstlight.lab._form.FormError: width: must be at least 1; got 0
    """
    values = default_form() | {name: str(value).strip() for name, value in form.items()}
    problems: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    for field in FIELDS:
        if field.kind == "number":
            try:
                numbers[field.name] = number_in(field, values[field.name])
            except ValueError as error:
                problems[field.name] = str(error)
        elif not isinstance(field.kind, str) and field.name != "activation" and values[field.name] not in field.kind:
            problems[field.name] = f"choose one of {', '.join(field.kind)}"
    if problems:
        raise FormError(problems)
    try:
        return spec_from_mapping(_mapping(values, numbers, snapshots))
    except SpecError as error:
        raise FormError(by_control(error.problems)) from None


def by_control(problems: Any) -> dict[str, str]:
    """Return the problems of a spec under the names of their controls; others under ''.

    >>> by_control(["task.group: unknown group 'Q7'"])
    {'group': "unknown group 'Q7'"}
    """
    names = {field.path: field.name for field in FIELDS} | {
        "model.widths": "width",
        "model.mlp": "width",
        "task.split": "fraction",
    }
    sorted_out: dict[str, str] = {}
    for problem in problems:
        path, _, message = problem.partition(": ")
        name = names.get(path.partition("[")[0], "group" if path in ("task", "task.table", "task.digest") else "")
        sorted_out.setdefault(name, message if name else problem)
    return sorted_out


def number_in(field: Field, text: str, *, whole: bool | None = None) -> float | int:
    """Return the number that a control holds; ValueError says what is wrong with it."""
    whole = field.name in _WHOLE if whole is None else whole
    try:
        value: float = int(text) if whole else float(text)
    except ValueError:
        raise ValueError(f"must be a {'whole ' if whole else ''}number; got {text[:40]!r}") from None
    open_below = field.name in ("fraction", "rate")
    if field.name == "fraction" and not 0 < value < 1:
        raise ValueError(f"must lie between 0 and 1, both excluded; got {text[:40]}")
    if field.least is not None and (value < field.least or (open_below and value == field.least)):
        raise ValueError(f"must be {'more than' if open_below else 'at least'} {field.least:g}; got {text[:40]}")
    if field.most is not None and not value <= field.most:
        raise ValueError(f"must be at most {field.most:,.10g} in the lab; got {text[:40]}")
    return value


def _mapping(values: Mapping[str, str], numbers: Mapping[str, Any], snapshots: int) -> dict[str, Any]:
    task: dict[str, Any] = {"split": {"fraction": numbers["fraction"]}}
    if values.get("table"):
        task |= {"table": values["table"], "group": values["group"]}
    else:
        task["group"] = values["group"]
    width = numbers["width"]
    # A transformer's own `width` is that of its embedding; its hidden units are those of the MLP.
    sizes = {"deep": {"widths": [width] * 2}, "transformer": {"mlp": width}}.get(values["model"], {"width": width})
    steps = int(numbers["steps"])
    return {
        "task": task,
        "model": {"kind": values["model"], "activation": values["activation"], **sizes},
        "optimizer": {
            "name": values["optimizer"],
            "learning_rate": numbers["rate"],
            "weight_decay": numbers["decay"],
        },
        "steps": steps,
        "recording": {"every": max(1, round(steps / ROWS))},
        "snapshots": snapshots,
        "seed": numbers["seed"],
    }
