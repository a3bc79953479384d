"""The eight lists of settings for the forecasts, drawn by seed: to fit constants, and to judge forecasts.

Every list was drawn and committed before any of its runs was trained. The second and the third list judged earlier
versions of the forecasts, and so did the fourth; all were fitted after that. The fifth has ten times as many runs as
these, the sixth has its runs near the boundary, and the eighth has decays, widths and rates as users choose them; all
three are fitted. The seventh judges.
"""

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, get_type_hints

import numpy as np

from firstlight.records import RunSpec, spec_from_mapping

ListName = Literal["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]

FOLDER = Path(__file__).parent.parent / "settings"
"""The folder of the committed lists."""

SEEDS: dict[ListName, int] = {
    "first": 19_001,
    "second": 19_002,
    "third": 19_003,
    "fourth": 19_004,
    "fifth": 19_005,
    "sixth": 19_006,
    "seventh": 19_007,
    "eighth": 19_008,
}
"""Seeds of the draws."""

CELLS: dict[ListName, int] = {
    "first": 130,
    "second": 130,
    "third": 112,
    "fourth": 104,
    "fifth": 1200,
    "sixth": 1000,
    "seventh": 200,
    "eighth": 260,
}
"""Number of cells in a list. A cell has two settings with two seeds, and two decays in all lists but `TWINS`."""

TWINS: tuple[ListName, ...] = ("third", "fourth", "seventh")
"""Lists whose pairs show what the seed alone decides."""

ALL_NEAR, WINDOW = ("sixth",), (0.8, 1.25)
"""Lists with all runs near the boundary, and where they lie in units of the guess."""

NEAR = 0.15
"""Half-width of the band around the boundary, as a share of it."""

SHARE_NEAR = 0.4
"""Share of the cells drawn in that band around the guess below. It is above a third, since the guess is rough."""


@dataclass(frozen=True)
class GroupFacts:
    """What was known of a group before a list was drawn.

    **Attributes:**

    - `order`, `nodes`: M, and the hidden units that suffice.
    - `guess`: share of the pairs at the boundary.
    - `factors`: of the guess, by optimizer and activation.
    """

    order: int
    nodes: int
    guess: float
    factors: Mapping[tuple[str, str], float]


FACTORS = {
    ("adam", "quadratic"): 0.85,
    ("adam", "relu"): 1.02,
    ("adam", "silu"): 0.91,
    ("adamw", "quadratic"): 1.0,
    ("adamw", "relu"): 1.26,
    ("adamw", "silu"): 1.01,
}
"""What optimizer and activation do to the guess in the third to the fifth list; the later ones have it by group."""


def _groups() -> dict[ListName, dict[str, GroupFacts]]:
    """Read what was known of the groups, by list.

    In the first two lists the guess is p₅₀ of the residualised energy times 1 + 3.5/M, times 1.1 for irreps of
    dimension 2, 1.2 for quaternionic, 1.45 for real irreps of dimension 3 or more, and 2 for complex ones; then it is
    the fitted boundary, averaged over activations and optimizers. Half of the groups of the third list are in neither
    of the first two, half of the fourth in none before, and a third of the seventh in no other.
    """
    table: dict[ListName, dict[str, GroupFacts]] = {name: {} for name in SEEDS}
    for row in csv.DictReader(io.StringIO((FOLDER / "forecast-groups.csv").read_text(encoding="utf-8"))):
        factors = dict(zip(FACTORS, map(float, row["factors"].split()), strict=True)) if row["factors"] else FACTORS
        facts = GroupFacts(int(row["order"]), int(row["nodes"]), float(row["guess"]), factors)
        table[row["list"]][row["group"]] = facts  # type: ignore[index]
    return table


GROUPS = _groups()
"""What was known of each group before a list was drawn, by list and group."""

BROAD = ("eighth",)
"""Lists whose decays, widths and rates do not depend on what the group needs."""

LARGE, LARGE_SHARE = 45, 0.025
"""Groups above this order, whose runs are expensive, and the share of the cells they get together."""

WIDEST = 640
"""Largest width; the groups with complex irreps of dimension 3 or more would need more units."""

LARGE_HERE, WIDEST_HERE = {"third": 30, "fourth": 30, "fifth": 30, "sixth": 36, "seventh": 36}, 320
"""The same from the third list on, whose every group has at least one cell."""


@dataclass(frozen=True)
class ForecastSetting:
    """One run of a list."""

    group: str
    n: int
    width: int
    activation: str
    optimizer: str
    rate: float
    decay: float
    steps: int
    seed: int

    def spec(self, *, lens: bool = True) -> RunSpec:
        """Return the spec of the run: recorded at 120 log-spaced epochs, stopped when the held-out pairs are learned.

        >>> ForecastSetting("Z11", 70, 64, "relu", "adam", 2e-3, 1e-3, 4000, 5).spec().task.split.count
        70
        """
        return spec_from_mapping(
            {
                "task": {"group": self.group, "split": {"count": self.n}},
                "model": {"width": self.width, "activation": self.activation},
                "optimizer": {"name": self.optimizer, "learning_rate": self.rate, "weight_decay": self.decay},
                "steps": self.steps,
                "recording": {"points": 120},
                "stop": [{"observable": "test_accuracy", "at_least": 0.99}],
                "lenses": ["li2"] if lens else [],
                "seed": self.seed,
            }
        )


def draw(name: ListName) -> list[ForecastSetting]:
    """Draw a list of settings by its seed.

    >>> settings = draw("fourth")
    >>> len(settings), len({s.group for s in settings}) >= 15, settings == load("fourth")
    (208, True, True)
    """
    rng = np.random.default_rng(SEEDS[name])
    settings, table = [], GROUPS[name]
    if name not in ("first", "second"):
        turns = [*table, *(None for _ in range(CELLS[name] - len(table)))]
        if name in BROAD:
            return [setting for group in turns for setting in _broad_pair(table, rng, group)]
        return [setting for group in turns for setting in _pair(name, rng, group)]
    while len(settings) < 2 * CELLS[name]:
        settings += _cell(table, rng)
    return settings


def _pair(drawn: ListName, rng: np.random.Generator, group: str | None) -> list[ForecastSetting]:
    """Draw two settings of a given group or a cheap one; twins differ in the seed alone, others also in the decay."""
    table, large, twins, all_near = GROUPS[drawn], LARGE_HERE[drawn], drawn in TWINS, drawn in ALL_NEAR
    special = 1.0 if all_near else rng.random()
    near = special >= 0.1 and rng.random() < 0.5
    above = special < 0.1 or rng.random() < 0.6
    low, high = (1 - NEAR, 1 + NEAR) if near else (1.2, 2.2) if above else (0.5, 0.82)
    low, high = WINDOW if all_near else (low, high)
    activation = ("quadratic", "relu", "silu")[int(rng.choice(3, p=[0.4, 0.3, 0.3]))]
    optimizer = ("adam", "adamw")[int(rng.random() < 0.4)]
    cheap = [name for name, facts in table.items() if facts.order <= large]
    while True:
        name = group or cheap[int(rng.integers(len(cheap)))]
        order, nodes = table[name].order, table[name].nodes
        guess = table[name].guess * table[name].factors[optimizer, activation]
        n = round(guess * _log_uniform(rng, low, high) * order**2)
        if group or n <= 0.95 * order**2:
            break
    n = min(n, round((0.95 if order <= large else 0.6) * order**2))
    rate = _rounded(_log_uniform(rng, 2.5e-3, 4e-3))
    narrow = 0.06 <= special < 0.1
    width = nodes * (_log_uniform(rng, 0.04, 0.1) if narrow else _log_uniform(rng, 0.7, 2.2))
    width = round(min(max(width, 4 if narrow else 48), WIDEST_HERE))
    decays = [_decay(rng, optimizer, special < 0.06, n, width) for _ in range(1 if twins else 2)]
    common = {"n": n, "width": width, "activation": activation, "optimizer": optimizer, "rate": rate}
    return [
        ForecastSetting(name, **common, decay=decay, steps=round(8 / rate), seed=int(rng.integers(1_000_000)))
        for decay in (decays[0], decays[-1])
    ]


def _broad_pair(table: Mapping[str, GroupFacts], rng: np.random.Generator, group: str | None) -> list[ForecastSetting]:
    """Draw two settings that differ in the decay and the seed, with decays over three decades and any width."""
    name = group or list(table)[int(rng.integers(len(table)))]
    facts, activation = table[name], ("quadratic", "relu", "silu")[int(rng.choice(3, p=[0.4, 0.3, 0.3]))]
    optimizer = ("adam", "adamw")[int(rng.random() < 0.3)]
    share = facts.guess * facts.factors[optimizer, activation] * _log_uniform(rng, 0.75, 2.2)
    rate = _rounded(_log_uniform(rng, 1e-3, 4e-3))
    common = {
        "n": round(min(share, 0.95) * facts.order**2),
        "width": round(_log_uniform(rng, 48, 512)),
        "activation": activation,
        "optimizer": optimizer,
        "rate": rate,
        "steps": round(8 / rate),
    }
    limits = (0.02, 1.5) if optimizer == "adamw" else (1e-5, 1e-2)
    decays = [_rounded(_log_uniform(rng, *limits)) for _ in range(2)]
    return [ForecastSetting(name, **common, decay=decay, seed=int(rng.integers(1_000_000))) for decay in decays]


def _decay(rng: np.random.Generator, optimizer: str, weak: bool, n: int, width: int) -> float:
    """Draw a coefficient of the decay: decoupled for AdamW, in the gradient for Adam."""
    if optimizer == "adamw":
        return _rounded(_log_uniform(rng, 0.003, 0.02) if weak else _log_uniform(rng, 0.25, 1.5))
    return _rounded(2 / n * (_log_uniform(rng, 0.01, 0.1) / width if weak else _log_uniform(rng, 0.04, 0.35)))


def _cell(table: Mapping[str, GroupFacts], rng: np.random.Generator) -> list[ForecastSetting]:
    """Draw the two settings of a cell: first where they lie, then a group in which there is room for that."""
    special = rng.random()
    near = special >= 0.14 and rng.random() < SHARE_NEAR / 0.86
    above = special < 0.14 or rng.random() < 0.5
    low, high = (1 - NEAR, 1 + NEAR) if near else (1.25, 2.5) if above else (0.45, 0.8)
    expensive = rng.random() < LARGE_SHARE
    names = [name for name, facts in table.items() if (facts.order > LARGE) == expensive]
    while True:
        group = names[int(rng.integers(len(names)))]
        order, nodes, guess = table[group].order, table[group].nodes, table[group].guess
        n = round(guess * order**2 * _log_uniform(rng, low, high))
        if order <= n <= 0.95 * order**2:
            break
    activation = ("quadratic", "relu", "silu")[int(rng.choice(3, p=[0.4, 0.3, 0.3]))]
    optimizer = ("adam", "adamw")[int(rng.random() < 0.4)]
    rate = _log_uniform(rng, 3e-3 if order > LARGE else 1e-3, 4e-3)
    narrow = 0.10 <= special < 0.14
    width = nodes * (_log_uniform(rng, 0.04, 0.1) if narrow else _log_uniform(rng, 0.7, 3.0))
    width = round(min(max(width, 4 if narrow else 48), WIDEST))
    settings = []
    for _ in range(2):
        if special < 0.10:  # hardly any decay
            decay = _log_uniform(rng, 0.003, 0.02) if optimizer == "adamw" else _log_uniform(rng, 0.01, 0.1) / width
        elif optimizer == "adamw":
            decay = _log_uniform(rng, 0.25, 1.5)
        else:
            decay = max(_log_uniform(rng, 0.04, 0.35), 3 / width if not narrow else 0.0)
        coefficient = decay if optimizer == "adamw" else 2 * decay / n
        settings.append(
            ForecastSetting(
                group=group,
                n=n,
                width=width,
                activation=activation,
                optimizer=optimizer,
                rate=_rounded(rate),
                decay=_rounded(coefficient),
                steps=round(8 / _rounded(rate)),
                seed=int(rng.integers(1_000_000)),
            )
        )
    return settings


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _rounded(value: float) -> float:
    """Return three significant digits, so that the committed list holds the numbers exactly."""
    return float(f"{value:.3g}")


def load(name: ListName) -> list[ForecastSetting]:
    """Read a committed list.

    >>> load("first")[0].optimizer in ("adam", "adamw")
    True
    """
    types = get_type_hints(ForecastSetting)
    rows = csv.DictReader(io.StringIO((FOLDER / f"forecast-{name}.csv").read_text(encoding="utf-8")))
    return [ForecastSetting(**{key: types[key](text) for key, text in row.items()}) for row in rows]


def write(name: ListName) -> None:
    """Write a drawn list to its committed file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(ForecastSetting)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(setting) for setting in draw(name))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"forecast-{name}.csv").write_text(text.getvalue(), encoding="utf-8")
