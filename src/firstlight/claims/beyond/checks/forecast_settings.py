"""The four lists of settings for the forecasts, drawn by seed: three to fit constants, the fourth to judge them.

Every list was drawn and committed before any of its runs was trained. The second and the third list judged earlier
versions of the forecasts, and were fitted after that. Ranges of rates and decays were chosen after trying Z10 and D6,
which are in no list.
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

ListName = Literal["first", "second", "third", "fourth"]

FOLDER = Path(__file__).parent.parent / "settings"
"""The folder of the committed lists."""

SEEDS: dict[ListName, int] = {"first": 19_001, "second": 19_002, "third": 19_003, "fourth": 19_004}
"""Seeds of the draws."""

CELLS: dict[ListName, int] = {"first": 130, "second": 130, "third": 112, "fourth": 104}
"""Number of cells in a list, two settings each: they differ in the seed, in the first two lists also in the decay."""

NEAR = 0.15
"""Half-width of the band around the boundary, as a share of it."""

SHARE_NEAR = 0.4
"""Share of the cells drawn in that band around the guess below. It is above a third, since the guess is rough."""

GROUPS: dict[ListName, dict[str, tuple[int, int, float]]] = {
    "first": {
        "Z7": (7, 24, 0.747),
        "Z13": (13, 48, 0.535),
        "Z19": (19, 72, 0.437),
        "Z29": (29, 112, 0.336),
        "Z37": (37, 144, 0.295),
        "Z4xZ4": (16, 54, 0.489),
        "Z3xZ6": (18, 66, 0.452),
        "Z15": (15, 56, 0.508),
        "D5": (10, 50, 0.703),
        "D9": (18, 98, 0.452),
        "D12": (24, 126, 0.381),
        "Q8": (8, 38, 0.864),
        "Dic3": (12, 66, 0.675),
        "Dic7": (28, 178, 0.4),
        "A4": (12, 116, 0.83),
        "S4": (24, 242, 0.506),
        "F20": (20, 330, 0.547),
        "F21": (21, 548, 0.767),
        "F57": (57, 1628, 0.498),
        "S3xZ3": (18, 154, 0.496),
        "S3xS3": (36, 422, 0.43),
        "A4xZ3": (36, 680, 0.636),
        "Q8xZ3": (24, 182, 0.448),
        "SL2(3)": (24, 260, 0.55),
    },
    "second": {
        "S4": (24, 242, 0.506),
        "F21": (21, 548, 0.767),
        "SL2(3)": (24, 260, 0.55),
        "Z11": (11, 40, 0.624),
        "Z16": (16, 58, 0.486),
        "Z17": (17, 64, 0.455),
        "Z23": (23, 88, 0.397),
        "Z31": (31, 120, 0.316),
        "Z5xZ5": (25, 96, 0.373),
        "Z2xZ8": (16, 54, 0.473),
        "Z2^4": (16, 30, 0.459),
        "Z4xZ7": (28, 106, 0.339),
        "D7": (14, 74, 0.541),
        "D8": (16, 78, 0.51),
        "D11": (22, 122, 0.388),
        "D4xZ2": (16, 62, 0.532),
        "Q16": (16, 94, 0.513),
        "Q8xZ2": (16, 78, 0.56),
        "Dic5": (20, 122, 0.494),
        "A4xZ2": (24, 234, 0.563),
        "F39": (39, 1088, 0.571),
        "F55": (55, 4016, 0.466),
        "A5": (60, 1286, 0.409),
        "D5xZ3": (30, 290, 0.359),
    },
    "third": {
        "F21": (21, 548, 0.896),
        "F39": (39, 1088, 0.736),
        "F55": (55, 4016, 1.114),
        "SL2(3)": (24, 260, 0.58),
        "Dic5": (20, 122, 0.62),
        "A4xZ2": (24, 234, 0.508),
        "Q16": (16, 94, 0.732),
        "D8": (16, 78, 0.539),
        "Z2^4": (16, 30, 0.452),
        "Z4xZ7": (28, 106, 0.384),
        "S4": (24, 242, 0.481),
        "Z23": (23, 88, 0.438),
        "Z12": (12, 42, 0.639),
        "Z14": (14, 50, 0.575),
        "Z21": (21, 80, 0.447),
        "Z25": (25, 96, 0.423),
        "Z26": (26, 98, 0.401),
        "Z2xZ6": (12, 38, 0.658),
        "Z2xZ2xZ4": (16, 46, 0.533),
        "D10": (20, 102, 0.472),
        "D13": (26, 146, 0.391),
        "Dic6": (24, 150, 0.556),
        "S3xZ4": (24, 182, 0.528),
        "D4xZ3": (24, 174, 0.533),
    },
    "fourth": {
        "F21": (21, 548, 1.01),
        "F39": (39, 1088, 0.797),
        "F55": (55, 4016, 1.29),
        "SL2(3)": (24, 260, 0.57),
        "Dic5": (20, 122, 0.598),
        "A4xZ2": (24, 234, 0.521),
        "Q16": (16, 94, 0.683),
        "Z4xZ4": (16, 54, 0.565),
        "D4xZ2": (16, 62, 0.558),
        "S4": (24, 242, 0.508),
        "Z23": (23, 88, 0.455),
        "Z9": (9, 32, 0.797),
        "Z18": (18, 66, 0.524),
        "Z20": (20, 74, 0.492),
        "Z22": (22, 82, 0.463),
        "Z24": (24, 90, 0.443),
        "Z3xZ3": (9, 32, 0.812),
        "Z2xZ4": (8, 22, 0.913),
        "Z2xZ10": (20, 70, 0.498),
        "D14": (28, 150, 0.395),
        "Dic3xZ2": (24, 134, 0.538),
        "D6xZ2": (24, 110, 0.435),
        "S3xZ5": (30, 282, 0.486),
    },
}
"""Order, nodes that suffice, and a guess of the share of pairs at the boundary, from what was known before.

The guess is p₅₀ of the residualised energy times 1 + 3.5/M, times 1.1 for irreps of dimension 2, 1.2 for quaternionic,
1.45 for real irreps of dimension 3 or more, and 2 for complex ones. In the third list it is the boundary fitted on the
first two, averaged over activations and optimizers; half of its groups are in neither of them. Likewise in the
fourth, where it is fitted on three."""

FACTORS = {
    ("adam", "quadratic"): 0.85,
    ("adam", "relu"): 1.02,
    ("adam", "silu"): 0.91,
    ("adamw", "quadratic"): 1.0,
    ("adamw", "relu"): 1.26,
    ("adamw", "silu"): 1.01,
}
"""What optimizer and activation do to the guess of the third and the fourth list."""

LARGE, LARGE_SHARE = 45, 0.025
"""Groups above this order, whose runs are expensive, and the share of the cells they get together."""

WIDEST = 640
"""Largest width; the groups with complex irreps of dimension 3 or more would need more units."""

LARGE_HERE, WIDEST_HERE = 30, 320
"""The same in the third and the fourth list, whose every group has at least one cell."""


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
    if name in ("third", "fourth"):
        turns = [*table, *(None for _ in range(CELLS[name] - len(table)))]
        return [setting for group in turns for setting in _twins(table, rng, group)]
    while len(settings) < 2 * CELLS[name]:
        settings += _cell(table, rng)
    return settings


def _twins(
    table: Mapping[str, tuple[int, int, float]], rng: np.random.Generator, group: str | None
) -> list[ForecastSetting]:
    """Draw one setting with two seeds, of a given group or a cheap one: the outcomes differ by chance alone."""
    special = rng.random()
    near = special >= 0.1 and rng.random() < 0.5
    above = special < 0.1 or rng.random() < 0.6
    low, high = (1 - NEAR, 1 + NEAR) if near else (1.2, 2.2) if above else (0.5, 0.82)
    activation = ("quadratic", "relu", "silu")[int(rng.choice(3, p=[0.4, 0.3, 0.3]))]
    optimizer = ("adam", "adamw")[int(rng.random() < 0.4)]
    cheap = [name for name, (order, *_) in table.items() if order <= LARGE_HERE]
    while True:
        name = group or cheap[int(rng.integers(len(cheap)))]
        order, nodes, guess = table[name]
        n = round(guess * FACTORS[optimizer, activation] * _log_uniform(rng, low, high) * order**2)
        if group or n <= 0.95 * order**2:
            break
    n = min(n, round((0.95 if order <= LARGE_HERE else 0.6) * order**2))
    rate = _rounded(_log_uniform(rng, 2.5e-3, 4e-3))
    narrow = 0.06 <= special < 0.1
    width = nodes * (_log_uniform(rng, 0.04, 0.1) if narrow else _log_uniform(rng, 0.7, 2.2))
    width = round(min(max(width, 4 if narrow else 48), WIDEST_HERE))
    weak = special < 0.06
    if optimizer == "adamw":
        decay = _log_uniform(rng, 0.003, 0.02) if weak else _log_uniform(rng, 0.25, 1.5)
    else:
        decay = 2 / n * (_log_uniform(rng, 0.01, 0.1) / width if weak else _log_uniform(rng, 0.04, 0.35))
    common = {"n": n, "width": width, "activation": activation, "optimizer": optimizer, "rate": rate}
    seeds = [int(rng.integers(1_000_000)) for _ in range(2)]
    return [ForecastSetting(name, **common, decay=_rounded(decay), steps=round(8 / rate), seed=s) for s in seeds]


def _cell(table: Mapping[str, tuple[int, int, float]], rng: np.random.Generator) -> list[ForecastSetting]:
    """Draw the two settings of a cell: first where they lie, then a group in which there is room for that."""
    special = rng.random()
    near = special >= 0.14 and rng.random() < SHARE_NEAR / 0.86
    above = special < 0.14 or rng.random() < 0.5
    low, high = (1 - NEAR, 1 + NEAR) if near else (1.25, 2.5) if above else (0.45, 0.8)
    expensive = rng.random() < LARGE_SHARE
    names = [name for name, (order, *_) in table.items() if (order > LARGE) == expensive]
    while True:
        group = names[int(rng.integers(len(names)))]
        order, nodes, guess = table[group]
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
