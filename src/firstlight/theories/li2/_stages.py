"""Where the three stages of a run begin and end, read off what the lens recorded."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firstlight.records import RunRecord, Table
from firstlight.records._learned import LEARNED, first_row

LASTS = 0.9
"""The accuracy below which a set that had been learned is lost again."""

DELAY = 0.25
"""Generalising comes late when it does by more than this share of the time it took to memorise."""

INFORMED = 0.2
"""The cosine of G_F with ỸỸᵀF below which what is sent back says little about the labels."""

GROWS = 0.1
"""Features grow when purity rises by more than this share of what it lacks."""

Name = Literal["lazy", "independent", "interactive", "stalled"]


@dataclass(frozen=True)
class Stage:
    """One stage of a run: from `start` to `end` (recorded steps), why, and how sure that is (0 to 1)."""

    name: Name
    start: int
    end: int
    evidence: str
    confidence: float


@dataclass(frozen=True)
class Stages:
    """The stages of a run and whether it grokked: generalised long after it had memorised."""

    stages: tuple[Stage, ...]
    grokked: bool
    reason: str
    confidence: float
    memorised_at: int | None
    generalised_at: int | None

    @property
    def verdict(self) -> str:
        """ "grokking" or "no grokking", with the reason."""
        return f"{'grokking' if self.grokked else 'no grokking'}: {self.reason}"

    def __getitem__(self, name: str) -> Stage:
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(f"no stage {name!r} in this run; it has {[stage.name for stage in self.stages]}")

    def __contains__(self, name: object) -> bool:
        return any(stage.name == name for stage in self.stages)


def stages(record: RunRecord | Table) -> Stages:
    r"""Mark the stages of Li₂ along a run that was looked at through the lens `li2`.

    * *Lazy* (I): until the training set is learned, while V makes its largest updates.
    * *Independent* (II): G_F has found the direction of ỸỸᵀF and drives each node by its own activation, until
      three signs say that others matter: repulsion (Theorem 6) has risen half of its way, G_F has turned half of its
      way off ỸỸᵀF, and the ridge under which V would rest has come half of its way down to the decay's. The boundary
      is their median, and their spread is its uncertainty.
    * *Interactive* (III): from there on, if the run comes to generalise, or G_F still carries labels and features
      grow; else it has *stalled*. Without test rows that features have grown is all that can be asked.

    A run has generalised when the test set is learned and not lost again. It grokked if that came late after
    memorising; where rows are too far apart to tell, the verdict says so.

    >>> step = np.arange(6) * 10
    >>> flat = dict.fromkeys(("li2.G_F", "li2.alignment", "li2.repulsion", "li2.ridge", "li2.step_V"), np.zeros(6))
    >>> columns = flat | {"train_accuracy": np.linspace(0, 0.5, 6), "test_accuracy": np.zeros(6)}
    >>> stages(Table(step, columns)).verdict
    'no grokking: the training set was not learned (accuracy 0.50 at the end)'
    """
    table = record.table if isinstance(record, RunRecord) else record
    _require(table)
    step = np.asarray(table.step)
    memorised, generalised = first_row(table, "train_accuracy"), _for_good(table)
    grokked, reason, sure = _verdict(table, memorised, generalised)
    found = [_lazy(table, memorised)]
    if memorised is not None and memorised < len(step) - 1:
        found += _after(table, memorised, generalised)
    return Stages(tuple(found), grokked, reason, sure, _at(step, memorised), _at(step, generalised))


_NEEDED = ("train_accuracy", "li2.G_F", "li2.alignment", "li2.repulsion", "li2.ridge", "li2.step_V")


def _require(table: Table) -> None:
    missing = [name for name in _NEEDED if name not in table]
    if missing or len(table) < 2:
        what = f"the columns {missing} are missing" if missing else f"there are {len(table)} rows"
        raise ValueError(f'stages need a run recorded through the lens "li2" at two steps or more; {what}')


def _for_good(table: Table) -> int | None:
    """The place of the row from which on the test set is learned and not lost again."""
    if "test_accuracy" not in table:
        return None
    test = table["test_accuracy"]
    lost = np.flatnonzero(test < LASTS)
    kept = np.flatnonzero(test >= LEARNED)
    kept = kept[kept > (lost[-1] if len(lost) else -1)]
    return int(kept[0]) if len(kept) else None


def _at(step: np.ndarray, place: int | None) -> int | None:
    return None if place is None else int(step[place])


def _verdict(table: Table, memorised: int | None, generalised: int | None) -> tuple[bool, str, float]:
    step, train = np.asarray(table.step), table["train_accuracy"]
    if memorised is None:
        return False, f"the training set was not learned (accuracy {train[-1]:.2f} at the end)", _margin(train.max())
    if "test_accuracy" not in table:
        return False, "there are no test rows to generalise to", 0.5
    test = table["test_accuracy"]
    if generalised is None and (once := first_row(table, "test_accuracy")) is not None:
        known = f"test accuracy {test[once]:.2f} at step {step[once]}, {test[-1]:.2f} at the end"
        return False, f"memorised at step {step[memorised]}, generalised and fell back ({known})", 0.8
    if generalised is None:
        rising = test[-1] > test[len(test) // 2] + 0.05
        soon = ", but it was still rising when the run ended" if rising else ""
        known = f"test accuracy is {test[-1]:.2f} after {step[-1]} steps{soon}"
        return False, f"memorised at step {step[memorised]} and did not generalise ({known})", 0.5 if rising else 1.0
    t, s = int(step[memorised]), int(step[generalised])
    spacing = max(int(step[i] - step[max(i - 1, 0)]) for i in (memorised, generalised))
    if test[memorised] >= 0.5 or s - t + spacing <= DELAY * t:
        return False, f"it generalised (step {s}) together with memorising (step {t}), without delay", 0.8
    if s - t <= max(2 * spacing, DELAY * t):
        known = f"memorised by step {t} and generalised by step {s}, with {spacing} steps between rows"
        return False, f"a delay is not resolved: {known}; record more often", 0.5
    # A delay of one memorising time is plain; one near DELAY is a matter of definition.
    return True, f"memorised at step {t}, generalised at step {s}", float(np.clip((s - t) / max(t, 1), 0.5, 1.0))


def _margin(accuracy: float) -> float:
    return float(np.clip((LEARNED - accuracy) / 0.1, 0.5, 1.0))


def _lazy(table: Table, memorised: int | None) -> Stage:
    step, end = np.asarray(table.step), len(table) - 1 if memorised is None else memorised
    update = table["li2.step_V"]
    peak = int(np.argmax(update))
    turned = table["li2.alignment"]
    told = (
        f"train accuracy {table['train_accuracy'][end]:.2f} at step {step[end]}, largest update of V at step "
        f"{step[peak]}, cos(G_F, ỸỸᵀF) from {turned[0]:.2f} to {turned[end]:.2f}"
    )
    signs = [memorised is not None, peak <= end, turned[end] > 0.5 * turned.max()]
    return Stage("lazy", int(step[0]), int(step[end]), told, sum(signs) / len(signs))


def _after(table: Table, memorised: int, generalised: int | None) -> list[Stage]:
    step, turned, repulsion = np.asarray(table.step), table["li2.alignment"], table["li2.repulsion"]
    peak = memorised + int(np.argmax(table["li2.G_F"][memorised:]))
    places = _crossings(table, memorised)
    place = int(np.median(places)) if places else len(step) - 1
    spread = (step[max(places)] - step[min(places)]) / max(step[place], 1) if places else 1.0
    start, boundary, last = int(step[memorised]), int(step[place]), len(step) - 1
    told = f"|G_F| peaks at {table['li2.G_F'][peak]:.3g} (step {step[peak]}), cos(G_F, ỸỸᵀF) up to {turned.max():.2f}"
    told += _grown(table, "li2.purity", memorised, place, "purity of nodes")
    sure = float(np.clip(1.0 - spread, 0.1, 1.0)) * (0.5 + len(places) / 6)
    second = Stage("independent", start, boundary, told, min(sure, 1.0))
    if place >= last:
        return [second]
    signs = f"repulsion {repulsion[memorised]:.2f} to {repulsion[-1]:.2f}, cos(G_F, ỸỸᵀF) {turned[-1]:.2f} at the end"
    signs += f", boundary between steps {step[min(places)]} and {step[max(places)]}"
    alive, told = _alive(table, memorised, place, generalised)
    signs += told
    end = last if generalised is None else max(generalised, place + 1)
    grown = _grown(table, "li2.purity", place, end, "purity of nodes")
    third = Stage("interactive" if alive else "stalled", boundary, int(step[end]), signs + grown, min(sure, 1.0))
    return [second, third]


def _alive(table: Table, memorised: int, place: int, generalised: int | None) -> tuple[bool, str]:
    """Whether what follows the boundary is a stage of learning, and what to say where that is not plain."""
    step, last = np.asarray(table.step), len(table) - 1
    informed = bool(table["li2.alignment"][-1] > INFORMED)
    if generalised is not None:
        return True, ""
    if "test_accuracy" not in table:
        grew = _grew(table, memorised, last)
        return grew or informed, ", no test rows to tell whether it generalises"
    # A stage shorter than the one before has had no time to show that it is over.
    young = step[last] - step[place] < step[place] - step[memorised]
    return informed and (bool(young) or _grew(table, place, last)), ""


def _grew(table: Table, start: int, end: int) -> bool:
    """Whether nodes have become purer; taken for granted where purity is not known."""
    if "li2.purity" not in table:
        return True
    purity = table["li2.purity"]
    return bool(purity[end] - purity[start] > GROWS * (1 - purity[start]))


def _grown(table: Table, column: str, start: int, end: int, name: str) -> str:
    return f", {name} {table[column][start]:.2f} to {table[column][end]:.2f}" if column in table else ""


def _crossings(table: Table, start: int) -> list[int]:
    """Where repulsion, the turning of G_F and the ridge are half-way from what they are in Stage II to what follows."""
    repulsion = table["li2.repulsion"]
    found = [
        _half_way(repulsion, start, rising=True),
        _half_way(table["li2.alignment"], start, rising=False),
        _half_way(table["li2.ridge"], start, rising=False),
    ]
    return sorted(place for place in found if place is not None)


def _half_way(values: np.ndarray, start: int, *, rising: bool) -> int | None:
    """The first place after the extreme of Stage II at which half of the change that follows is done."""
    v = values[start:] if rising else -values[start:]
    low = _before_the_rise(v)
    top = v[low:].max()
    if not top - v[low] > 0.05 * max(abs(top), abs(v[low]), 1e-12):
        return None
    return start + low + int(np.argmax(v[low:] >= 0.5 * (v[low] + top)))


def _before_the_rise(v: np.ndarray) -> int:
    """Where the largest rise of v begins: the place of the least value before the value that is furthest above it."""
    gains = v - np.minimum.accumulate(v)
    end = int(np.argmax(gains))
    return int(np.argmin(v[: end + 1]))


def decay_ridge(samples: int, weight_decay: float, loss: Any) -> float:
    """The η of J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖² that a weight decay in the gradient of another loss stands for.

    For ℓ = c·mean‖·‖² the gradient of V is 2c/n times J's, so η = n·wd/2c; for a sum, η = wd/2c.

    >>> from firstlight.records._spec import Loss
    >>> round(decay_ridge(2016, 2e-4, Loss()), 4)
    0.2016
    """
    return (samples if loss.reduction == "mean" else 1) * weight_decay / (2 * loss.factor)
