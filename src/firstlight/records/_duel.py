"""`DuelRecord`: optimizers compared on one task at equal compute."""

from typing import Annotated

from pydantic import Field

from firstlight.records._base import Frozen, Record, utc_now
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._figures import Figures, figure_digests
from firstlight.records._spec import RunSpec


class DuelRate(Frozen):
    """One tuning point: learning rate, weight decay, and how the tuning seeds did.

    **Fields:**

    - `learning_rate`, `weight_decay`: the setting.
    - `generalised`: tuning seeds that generalised.
    - `seeds`: tuning seeds.
    - `steps`: mean steps to generalise, with the whole budget for seeds that did not.
    - `accuracy`: mean of the last test accuracies.
    """

    learning_rate: float
    weight_decay: float
    generalised: int
    seeds: int
    steps: float
    accuracy: float


class DuelWidth(Frozen):
    """The critical width of an optimizer, between a width at which it fails and one at which it succeeds.

    **Fields:**

    - `fails`: largest tested width at which fewer than half of the seeds generalised; None if none failed.
    - `succeeds`: smallest tested width at which at least half of them did; None if none did.
    - `theory`: hidden units that Li₂'s Theorem 8 asks for, or None if it does not apply.
    - `tested`: width → share of seeds that generalised.
    """

    fails: int | None = None
    succeeds: int | None = None
    theory: float | None = None
    tested: dict[str, float] = Field(default_factory=dict)


class DuelEntry(Frozen):
    """One optimizer of a duel.

    **Fields:**

    - `optimizer`: its name.
    - `learning_rate`, `weight_decay`: the best tuning point.
    - `at_edge`: whether the best rate is the smallest or largest that was tried.
    - `steps`: steps of its budget.
    - `step_flops`: floating-point operations of one step.
    - `tuning`: every tuning point.
    - `generalised_at`: step at which each seed generalised; None if it did not within the budget.
    - `median`, `low`, `high`: median over seeds with its interval, in steps; None beyond the budget.
    - `confidence`: exact confidence of the interval.
    - `width`: the critical width, or None if it was not searched.
    """

    optimizer: str
    learning_rate: float
    weight_decay: float
    at_edge: bool = False
    steps: int
    step_flops: float
    tuning: tuple[DuelRate, ...] = ()
    generalised_at: tuple[int | None, ...] = ()
    median: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float = 0.0
    width: DuelWidth | None = None


class DuelRecord(Record):
    """Optimizers compared on one spec, each tuned with the same number of runs of the same compute.

    **Fields:**

    - `spec`: the run that every optimizer trains.
    - `entries`: the optimizers in the order in which they were given.
    - `seeds`: seeds of the comparison; tuning used others.
    - `story`: the outcome in a sentence.
    - `seconds`: training time of all runs.
    - `figures`: figures of the comparison.

    >>> entry = DuelEntry(optimizer="adam", learning_rate=1e-3, weight_decay=0.0, steps=10, step_flops=1e6)
    >>> record = DuelRecord(spec=RunSpec(), entries=(entry,))
    >>> DuelRecord.from_json(record.to_json()) == record
    True
    """

    spec: RunSpec
    entries: tuple[DuelEntry, ...]
    seeds: tuple[int, ...] = ()
    story: str = ""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    created: str = Field(default_factory=utc_now)
    versions: dict[str, str] = Field(default_factory=software_versions)
    machine: dict[str, str | int] = Field(default_factory=machine_facts)
    figures: Figures = ()

    def _hashed(self, **replaced):
        return super()._hashed(figures=figure_digests(self.figures), **replaced)
