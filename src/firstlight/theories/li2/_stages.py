"""Mark where the three stages of a run begin and end, from the columns that the lens recorded."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firstlight.records import LEARNED, RunRecord, Table, first_row

LOST = 0.9
"""Accuracy below which a set that had been learned counts as lost again."""

DELAY = 0.25
"""Generalisation is late if it follows memorisation by more than this share of the time to memorise."""

INFORMED = 0.2
"""Cosine of G_F with ỸỸᵀF below which the backpropagated gradient carries little about the labels."""

GROWTH = 0.1
"""Features grow if purity rises by more than this share of the distance to 1."""

StageName = Literal["lazy", "independent", "interactive", "stalled"]
Clock = Literal["epoch", "step"]


@dataclass(frozen=True)
class Stage:
    """One stage of a run.

    **Attributes:**

    - `name`: "lazy", "independent", "interactive" or "stalled".
    - `start`, `end`: recorded steps.
    - `evidence`: why the stage ends at `end`.
    - `confidence`: from 0 to 1.
    """

    name: StageName
    start: int
    end: int
    evidence: str
    confidence: float


@dataclass(frozen=True)
class Stages:
    """The stages of a run, and whether it grokked: generalised long after it memorised.

    **Attributes:**

    - `stages`: in order of time.
    - `grokked`: whether generalisation came late.
    - `reason`: why, in one clause.
    - `confidence`: of `grokked`, from 0 to 1.
    - `memorised_at`, `generalised_at`: recorded steps, or None.
    """

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
    r"""Mark the stages of Li₂ along a run that was recorded with the lens `li2`.

    - *Lazy* (I): until the training set is learned. V makes its largest updates.
    - *Independent* (II): G_F points along ỸỸᵀF, so that each hidden unit is driven by its own activation. Three signs
      end this stage: repulsion (Theorem 6) has risen half of its way, G_F has turned half of its way off ỸỸᵀF, and
      the ridge at which V would rest has fallen half of its way to that of the weight decay. The boundary is the
      median of the three; their spread is its uncertainty.
    - *Interactive* (III): afterwards, if the run generalises, or if G_F still carries labels and features grow. Else
      the run has *stalled*. Without test rows only the growth of features counts.

    A run has generalised when the test set is learned and not lost again. It grokked if that came late after
    memorisation. The verdict says so if the recorded rows are too far apart to decide.

    **Arguments:**

    - `record`: the run, whose `RunSpec.clock` names time in every sentence; of a bare `Table` the word is "step".

    >>> step = np.arange(6) * 10
    >>> flat = dict.fromkeys(("li2.G_F", "li2.alignment", "li2.repulsion", "li2.ridge", "li2.step_V"), np.zeros(6))
    >>> columns = flat | {"train_accuracy": np.linspace(0, 0.5, 6), "test_accuracy": np.zeros(6)}
    >>> stages(Table(step, columns)).verdict
    'no grokking: the training set was not learned (accuracy 0.50 at the end)'
    """
    table, clock = (record.table, record.spec.clock) if isinstance(record, RunRecord) else (record, "step")
    _require(table)
    step = np.asarray(table.step)
    memorised, generalised = first_row(table, "train_accuracy"), lasting_row(table)
    grokked, reason, confidence = _verdict(table, memorised, generalised, clock)
    marked = [_lazy(table, memorised, clock)]
    if memorised is not None and memorised < len(step) - 1:
        marked += _after(table, memorised, generalised, clock)
    return Stages(tuple(marked), grokked, reason, confidence, _at(step, memorised), _at(step, generalised))


_NEEDED = ("train_accuracy", "li2.G_F", "li2.alignment", "li2.repulsion", "li2.ridge", "li2.step_V")


def _require(table: Table) -> None:
    missing = [name for name in _NEEDED if name not in table]
    if missing or len(table) < 2:
        problem = f"the columns {missing} are missing" if missing else f"there are {len(table)} rows"
        raise ValueError(f'stages need a run recorded through the lens "li2" at two steps or more; {problem}')


def lasting_row(table: Table) -> int | None:
    """Return the index of the first row from which the test set stays learned, or None."""
    if "test_accuracy" not in table:
        return None
    test = table["test_accuracy"]
    lost, learned = np.flatnonzero(test < LOST), np.flatnonzero(test >= LEARNED)
    lasting = learned[learned > (lost[-1] if len(lost) else -1)]
    return int(lasting[0]) if len(lasting) else None


def _at(step: np.ndarray, row: int | None) -> int | None:
    return None if row is None else int(step[row])


def _verdict(table: Table, memorised: int | None, generalised: int | None, clock: Clock) -> tuple[bool, str, float]:
    """Return whether the run grokked, the reason and the confidence."""
    step, train = np.asarray(table.step), table["train_accuracy"]
    if memorised is None:
        return False, f"the training set was not learned (accuracy {train[-1]:.2f} at the end)", _margin(train.max())
    if "test_accuracy" not in table:
        return False, "there are no test rows to generalise to", 0.5
    test = table["test_accuracy"]
    start = f"memorised at {clock} {step[memorised]}"
    if generalised is None and (peak := first_row(table, "test_accuracy")) is not None:
        levels = f"test accuracy {test[peak]:.2f} at {clock} {step[peak]}, {test[-1]:.2f} at the end"
        return False, f"{start}, generalised and fell back ({levels})", 0.8
    if generalised is None:
        rising = test[-1] > test[len(test) // 2] + 0.05
        trend = ", but it was still rising when the run ended" if rising else ""
        level = f"test accuracy is {test[-1]:.2f} after {step[-1]} {clock}s{trend}"
        return False, f"{start} and did not generalise ({level})", 0.5 if rising else 1.0
    t, s = int(step[memorised]), int(step[generalised])
    spacing = max(int(step[i] - step[max(i - 1, 0)]) for i in (memorised, generalised))
    if test[memorised] >= 0.5 or s - t + spacing <= DELAY * t:
        return False, f"it generalised ({clock} {s}) together with memorising ({clock} {t}), without delay", 0.8
    if s - t <= max(2 * spacing, DELAY * t):
        times = f"memorised by {clock} {t} and generalised by {clock} {s}, with {spacing} {clock}s between rows"
        return False, f"a delay is not resolved: {times}; record more often", 0.5
    # A delay as long as memorisation itself is clear; a delay near DELAY is a matter of definition.
    confidence = float(np.clip((s - t) / max(t, 1), 0.5, 1.0))
    return True, f"{start}, generalised at {clock} {s}", confidence


def _margin(accuracy: float) -> float:
    return float(np.clip((LEARNED - accuracy) / 0.1, 0.5, 1.0))


def _lazy(table: Table, memorised: int | None, clock: Clock) -> Stage:
    step, end = np.asarray(table.step), len(table) - 1 if memorised is None else memorised
    update = table["li2.step_V"]
    peak = int(np.argmax(update))
    aligned = table["li2.alignment"]
    evidence = (
        f"train accuracy {table['train_accuracy'][end]:.2f} at {clock} {step[end]}, largest update of the output "
        f"weights at {clock} {step[peak]}, alignment of the gradient with the labels from {aligned[0]:.2f} to "
        f"{aligned[end]:.2f}"
    )
    signs = [memorised is not None, peak <= end, aligned[end] > 0.5 * aligned.max()]
    return Stage("lazy", int(step[0]), int(step[end]), evidence, sum(signs) / len(signs))


def _after(table: Table, memorised: int, generalised: int | None, clock: Clock) -> list[Stage]:
    """Return the independent stage, and the interactive or stalled one if it has begun."""
    step, aligned, repulsion = np.asarray(table.step), table["li2.alignment"], table["li2.repulsion"]
    peak = memorised + int(np.argmax(table["li2.G_F"][memorised:]))
    rows = _crossings(table, memorised)
    row = int(np.median(rows)) if rows else len(step) - 1
    spread = (step[max(rows)] - step[min(rows)]) / max(step[row], 1) if rows else 1.0
    start, boundary, last = int(step[memorised]), int(step[row]), len(step) - 1
    evidence = (
        f"the backpropagated gradient peaks at {table['li2.G_F'][peak]:.3g} ({clock} {step[peak]}), its alignment with "
        f"the labels reaches {aligned.max():.2f}{_growth(table, memorised, row)}"
    )
    confidence = min(float(np.clip(1.0 - spread, 0.1, 1.0)) * (0.5 + len(rows) / 6), 1.0)
    second = Stage("independent", start, boundary, evidence, confidence)
    if row >= last:
        return [second]
    alive, remark = _alive(table, memorised, row, generalised)
    end = last if generalised is None else max(generalised, row + 1)
    evidence = (
        f"repulsion {repulsion[memorised]:.2f} to {repulsion[-1]:.2f}, alignment with the labels {aligned[-1]:.2f} at "
        f"the end, boundary between {clock}s {step[min(rows)]} and {step[max(rows)]}{remark}"
        f"{_growth(table, row, end)}"
    )
    third = Stage("interactive" if alive else "stalled", boundary, int(step[end]), evidence, confidence)
    return [second, third]


def _alive(table: Table, memorised: int, row: int, generalised: int | None) -> tuple[bool, str]:
    """Return whether the network still learns after the boundary, and a remark if test rows are missing."""
    step, last = np.asarray(table.step), len(table) - 1
    informed = bool(table["li2.alignment"][-1] > INFORMED)
    if generalised is not None:
        return True, ""
    if "test_accuracy" not in table:
        grew = _grew(table, memorised, last)
        return grew or informed, ", no test rows to show whether it generalises"
    # A stage shorter than the one before has had no time to show that it is over.
    young = step[last] - step[row] < step[row] - step[memorised]
    return informed and (bool(young) or _grew(table, row, last)), ""


def _grew(table: Table, start: int, end: int) -> bool:
    """Return whether hidden units became purer; True if purity was not recorded."""
    if "li2.purity" not in table:
        return True
    purity = table["li2.purity"]
    return bool(purity[end] - purity[start] > GROWTH * (1 - purity[start]))


def _growth(table: Table, start: int, end: int) -> str:
    if "li2.purity" not in table:
        return ""
    return f", purity of hidden units {table['li2.purity'][start]:.2f} to {table['li2.purity'][end]:.2f}"


def _crossings(table: Table, start: int) -> list[int]:
    """Return the rows at which repulsion, alignment and ridge are half-way from Stage II to what follows, sorted."""
    rows = [
        _half_way(table["li2.repulsion"], start, rising=True),
        _half_way(table["li2.alignment"], start, rising=False),
        _half_way(table["li2.ridge"], start, rising=False),
    ]
    return sorted(row for row in rows if row is not None)


def _half_way(values: np.ndarray, start: int, *, rising: bool) -> int | None:
    """Return the first row after the extreme of Stage II at which half of the following change is done."""
    v = values[start:] if rising else -values[start:]
    low = _before_the_rise(v)
    top = v[low:].max()
    if not top - v[low] > 0.05 * max(abs(top), abs(v[low]), 1e-12):
        return None
    return start + low + int(np.argmax(v[low:] >= 0.5 * (v[low] + top)))


def _before_the_rise(v: np.ndarray) -> int:
    """Return where the largest rise of v begins: the minimum before the value that lies furthest above it."""
    gains = v - np.minimum.accumulate(v)
    end = int(np.argmax(gains))
    return int(np.argmin(v[: end + 1]))


def decay_ridge(samples: int, weight_decay: float, loss: Any) -> float:
    """Convert a weight decay in the gradient of `loss` to the η of J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖².

    For ℓ = c·mean‖·‖² the gradient of V is 2c/n times J's, so η = n·wd/2c; for a sum, η = wd/2c.

    **Arguments:**

    - `samples`: n, the number of training rows.
    - `weight_decay`: wd, which adds wd·V to the gradient.
    - `loss`: the conventions of ℓ, with `reduction` and `factor`.

    >>> from firstlight.records._spec import Loss
    >>> round(decay_ridge(2016, 2e-4, Loss()), 4)
    0.2016
    """
    return (samples if loss.reduction == "mean" else 1) * weight_decay / (2 * loss.factor)
