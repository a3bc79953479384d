"""What the page shows of a run, of a claim and of the whole, as text that is ready to be set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firstlight.records import (
    ClaimRecord,
    ClaimVerdict,
    DeepModel,
    GroupTask,
    ParityTask,
    RunRecord,
    RunSpec,
    RunStatus,
    dump_toml,
)
from firstlight.report._format import Quantity, duration, machine_text, quantities, text_of


@dataclass(frozen=True)
class RunView:
    """A run as shown: what happened in sentences, facts and evidence as (name, text), figures by digest."""

    id: str
    title: str
    status: RunStatus
    story: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()
    figures: tuple[str, ...] = ()
    spec: str = ""
    command: str = ""
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class ClaimView:
    """A claim as shown: both statements, its numbers row by row, the verdict, figures by digest."""

    id: str
    paper: str
    title: str
    status: ClaimVerdict
    expected_verdict: ClaimVerdict
    statement: str
    corrected: str = ""
    locator: str = ""
    scale: str = "quick"
    quantities: tuple[Quantity, ...] = ()
    tolerance_reason: str = ""
    evidence: str = ""
    seeds: tuple[int, ...] = ()
    seconds: float = 0.0
    figures: tuple[str, ...] = ()
    command: str = ""
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""
    raised: bool = False

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the registry expects, and was reached by the check, not by its breaking."""
        return self.status == self.expected_verdict and not self.raised


@dataclass(frozen=True)
class Environment:
    """Where records were made: the machine in words, and (package, version) pairs."""

    machine: str
    versions: tuple[tuple[str, str], ...]

    @property
    def firstlight(self) -> str:
        """The version of this package, as far as it is known."""
        return dict(self.versions).get("firstlight", "")


@dataclass(frozen=True)
class ReportView:
    """The whole page: `papers` are (key, title) in the order of the sections; environments, newest first."""

    title: str
    created: str
    runs: tuple[RunView, ...] = ()
    claims: tuple[ClaimView, ...] = ()
    papers: tuple[tuple[str, str], ...] = ()
    environments: tuple[Environment, ...] = ()

    def of_paper(self, key: str) -> tuple[ClaimView, ...]:
        """The claims of one paper, in order."""
        return tuple(claim for claim in self.claims if claim.paper == key)


def claim_view(record: ClaimRecord) -> ClaimView:
    """What the page shows of a claim's record.

    >>> record = ClaimRecord(
    ...     id="li2.theorem-2", paper="li2", title="Maxima of the energy", scale="quick", statement="…",
    ...     status="holds", expected_verdict="holds", measured=0.125, expected=0.125, tolerance=1e-6,
    ... )
    >>> claim_view(record).quantities[0]
    Quantity(name='', measured='0.125', expected='0.125', tolerance='10⁻⁶')
    """
    return ClaimView(
        id=record.id,
        paper=record.paper,
        title=record.title,
        status=record.status,
        expected_verdict=record.expected_verdict,
        statement=record.statement,
        corrected=record.corrected,
        locator=record.locator,
        scale=record.scale,
        quantities=quantities(record.measured, record.expected, record.tolerance),
        tolerance_reason=record.tolerance_reason,
        evidence=record.evidence,
        seeds=record.seeds,
        seconds=record.seconds,
        figures=record.figures,
        command=record.command,
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
        raised=record.raised,
    )


def run_view(record: RunRecord, *, story: Sequence[str] = (), figures: Sequence[str] = ()) -> RunView:
    """What the page shows of a run's record, with the figures of these digests.

    `story` tells in sentences what happened; if not given, the `story` in the record's summary does.

    >>> record = RunRecord(spec=RunSpec(), status="finished", steps=500, seconds=12.0)
    >>> run_view(record).title, run_view(record).story
    ('Z71, two layers, width 2048, seed 0', ('The run finished after 500 steps in 12 s.',))
    """
    ending = f"The run {_ENDINGS[record.status]} after {record.steps} steps in {duration(record.seconds)}."
    sentences = list(story) or [str(record.summary.get("story", ""))]
    told = [ending, *sentences, _news(record, sentences)]
    facts = {
        name: value for name, value in record.summary.items() if name != "story" and not isinstance(value, Mapping)
    }
    return RunView(
        id=record.id,
        title=record.spec.name or _describe(record.spec),
        status=record.status,
        story=tuple(sentence for sentence in told if sentence),
        facts=tuple((name.replace("_", " "), text_of(value)) for name, value in facts.items()),
        evidence=_evidence(record),
        figures=tuple(figures),
        spec=dump_toml(record.spec, full=True),
        command="firstlight run spec.toml",
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


def _evidence(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """What the lenses decided and why, as rows of two cells."""
    parts = [part["evidence"] for part in record.summary.values() if isinstance(part, Mapping) and "evidence" in part]
    return tuple((str(what), text_of(why)) for part in parts for what, why in part.items())


def _news(record: RunRecord, sentences: Sequence[str]) -> str:
    """The first line of the record's message, unless what is told already says it."""
    line = record.message.partition("\n")[0].strip()
    is_told = any(line.rstrip(".") in sentence for sentence in sentences)
    # That of an interrupted run says where it stopped, as the ending does.
    return "" if is_told or record.status == "interrupted" else line


_ENDINGS = {
    "finished": "finished",
    "interrupted": "was interrupted",
    "diverged": "diverged",
    "failed": "failed",
}


def _describe(spec: RunSpec) -> str:
    task, model = spec.task, spec.model
    if isinstance(task, GroupTask):
        what = task.group
    elif isinstance(task, ParityTask):
        what = f"parity of {task.degree} among {task.dimension} signs"
    else:
        what = task.path
    if isinstance(model, DeepModel):
        how = f"{len(model.widths) + 1} layers, widths {', '.join(map(str, model.widths))}"
    else:
        how = f"two layers, width {model.width}"
    return f"{what}, {how}, seed {spec.seed}"
