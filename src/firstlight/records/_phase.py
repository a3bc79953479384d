"""`PhaseRecord`: the share of seeds that generalise over two fields of many runs, with what theory expects."""

from typing import Annotated, Literal

from pydantic import Field

from firstlight.records._base import Frozen, Record, utc_now
from firstlight.records._facts import machine_facts, software_versions
from firstlight.records._figures import Figures, figure_digests

AxisSpacing = Literal["linear", "log", "named"]


class PhaseAxis(Frozen):
    """One axis of a phase diagram.

    **Fields:**

    - `field`: the dotted field of the spec.
    - `label`: the field in words.
    - `spacing`: "linear", "log", or "named" for cells of one size with a name each.
    - `values`: the values in order; numbers unless the axis is named.
    - `names`: the values as text.
    """

    field: str
    label: str
    spacing: AxisSpacing
    values: tuple[float | str, ...]
    names: tuple[str, ...]


class PhaseCell(Frozen):
    """One cell of a phase diagram.

    **Fields:**

    - `column`, `row`: its place on the axes.
    - `ended`: number of runs that finished or diverged.
    - `generalised`: number of those that generalised.
    - `low`, `high`: 95 % interval of the share; None without an ended run.
    - `missing`: number of planned or started runs that have not ended.
    - `chance`: share of networks that theory expects to generalise, or None where it does not apply.
    - `runs`: ids of the stored runs.
    """

    column: int
    row: int
    ended: int = 0
    generalised: int = 0
    low: float | None = None
    high: float | None = None
    missing: int = 0
    chance: float | None = None
    runs: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """The share of ended runs that generalised, or None.

        >>> PhaseCell(column=0, row=0, ended=4, generalised=3).share
        0.75
        """
        return self.generalised / self.ended if self.ended else None


class PhaseRecord(Record):
    """Runs that differ in two fields and in their seeds, as a phase diagram.

    **Fields:**

    - `title`: what all runs share, in a few words.
    - `story`: the outcome in a sentence.
    - `x`, `y`: the axes, horizontal first.
    - `cells`: every cell, row by row.
    - `averaged`: the fields that also vary, over which each cell is averaged.
    - `fixed`: fields that were held at one of their values, with the value as text.
    - `theory`: what theory expects, or why it says nothing, in a sentence.
    - `figures`: the diagram.

    >>> axis = PhaseAxis(field="model.width", label="hidden units", spacing="linear", values=(8,), names=("8",))
    >>> record = PhaseRecord(title="Z5", x=axis, y=axis, cells=(PhaseCell(column=0, row=0),))
    >>> PhaseRecord.from_json(record.to_json()) == record
    True
    """

    title: str
    story: str = ""
    x: PhaseAxis
    y: PhaseAxis
    cells: tuple[PhaseCell, ...]
    averaged: tuple[str, ...] = ()
    fixed: dict[str, str] = Field(default_factory=dict)
    theory: str = ""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    created: str = Field(default_factory=utc_now)
    versions: dict[str, str] = Field(default_factory=software_versions)
    machine: dict[str, str | int] = Field(default_factory=machine_facts)
    figures: Figures = ()

    def _words(self) -> str:
        return f"{self.title}: {self.x.label} × {self.y.label}, {len(self.cells)} cells"

    def _hashed(self, **replaced):
        return super()._hashed(figures=figure_digests(self.figures), **replaced)
