"""Families of stored runs: runs that differ in the fields of an atlas and in their seeds only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from firstlight.records import GroupTask, RunRecord, RunSpec, model_title, run_title, sha256, task_title
from firstlight.runs import OVER
from firstlight.sweeps._atlas._axis import AXES, plain_value, value_of


@dataclass(frozen=True)
class Outcome:
    """What a phase diagram needs of a run, without its curves.

    **Attributes:**

    - `id`, `spec`, `status`, `seconds`: as in the record.
    - `generalised`: whether the held-out rows were learned.
    - `story`: the outcome in a sentence.
    """

    id: str
    spec: RunSpec
    status: str
    generalised: bool
    seconds: float = 0.0
    story: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether the run finished or diverged."""
        return self.status in OVER


def outcome_of(record: RunRecord) -> Outcome:
    """Return the outcome of a run; a diverged run counts as one that did not generalise."""
    learned = record.status != "diverged" and record.summary.get("generalised_at") is not None
    story = str(record.summary.get("story") or record.message)
    return Outcome(record.id, record.spec, record.status, learned, record.seconds, story)


@dataclass(frozen=True)
class Family:
    """Runs whose specs agree in all but the fields of `AXES`, the seed and the name.

    **Attributes:**

    - `id`: twelve digits that depend on the shared fields only.
    - `runs`: the runs, in the order of writing.
    """

    id: str
    runs: tuple[Outcome, ...]

    @cached_property
    def varying(self) -> dict[str, int]:
        """Short name of each axis with several values → number of values."""
        counts = {
            axis: len({plain_value(value_of(run.spec, field)) for run in self.runs} - {None})
            for axis, field in AXES.items()
        }
        return {axis: count for axis, count in counts.items() if count > 1}

    @cached_property
    def seeds(self) -> int:
        """Number of different seeds."""
        return len({run.spec.seed for run in self.runs})

    @property
    def title(self) -> str:
        """What the runs share, in a few words."""
        return shared_title([run.spec for run in self.runs])

    @property
    def default_axes(self) -> tuple[str, str]:
        """The axes to show first: the training fraction upwards if it varies, and the axis with the most values."""
        order = sorted(self.varying, key=lambda axis: -self.varying[axis])
        if "fraction" in order:
            order.remove("fraction")
            return (order or ["decay"])[0], "fraction"
        others = [axis for axis in ("fraction", "decay") if axis not in order]
        first, second = [*order, *others][:2]
        return first, second


def families(runs: Iterable[Outcome], least: int = 2) -> list[Family]:
    """Group runs into families with at least `least` different points, seeds aside; the newest family comes first.

    >>> runs = [Outcome(str(n), RunSpec(seed=n, optimizer={"weight_decay": n % 2}), "finished", True) for n in range(4)]
    >>> [(len(family.runs), family.varying, family.seeds) for family in families(runs)]
    [(4, {'decay': 2}, 4)]
    """
    members: dict[str, list[Outcome]] = {}
    for run in runs:
        id = family_id(run.spec)
        own = members.pop(id, [])
        own.append(run)
        members[id] = own  # at the end: the newest family is the last
    whole = [Family(id, tuple(own)) for id, own in members.items()]
    chosen = [family for family in whole if len({_point(run.spec) for run in family.runs}) >= least]
    return chosen[::-1]


def family_id(spec: RunSpec) -> str:
    """Return the id of the family of a run: twelve digits of the digest of the fields that its members share."""
    values = spec.model_dump(mode="json")
    values.pop("seed")
    values.pop("name", None)
    for field in AXES.values():
        part, name = values, field
        while "." in name:
            head, _, name = name.partition(".")
            part = part.get(head) or {}
        own_table = field == "task.group" and isinstance(spec.task, GroupTask) and spec.task.table is not None
        if not own_table:
            part.pop(name, None)
    return sha256(values)[:12]


def shared_title(specs: Sequence[RunSpec]) -> str:
    """Return what runs share in a few words.

    >>> shared_title([RunSpec(seed=1), RunSpec(seed=2)])
    'Z71, two layers, width 2048, quadratic, Adam, 500 epochs'
    """
    first = specs[0]
    if first.name and len({spec.name for spec in specs}) == 1:
        return run_title(first)
    tasks = list(dict.fromkeys(task_title(spec.task) for spec in specs))
    models = list(dict.fromkeys(model_title(spec.model) for spec in specs))
    parts = [tasks[0] if len(tasks) == 1 else f"{tasks[0]} to {tasks[-1]}" if len(tasks) > 3 else ", ".join(tasks)]
    parts.append(models[0] if len(models) == 1 else models[0].rpartition(", width")[0] or f"{len(models)} models")
    activation = getattr(first.model, "activation", "")
    parts += [activation] if activation else []
    optimizers = list(dict.fromkeys(spec.optimizer.title for spec in specs))
    steps = list(dict.fromkeys(spec.steps for spec in specs))
    parts += [" and ".join(optimizers), f"{' or '.join(map(str, steps[:3]))} {first.clock}s"]
    return ", ".join(parts)


def _point(spec: RunSpec) -> tuple[object, ...]:
    return tuple(value_of(spec, field) for field in AXES.values())
