"""The view of a run: its story, verdicts, figures and facts as text that is ready to be set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.records import Agreement, FigureData, RunRecord, RunStatus, dump_toml, run_title
from firstlight.report._format import duration, machine_text, text_of
from firstlight.report._questions import questions
from firstlight.report._theories import THEORIES, in_order, theory_name

_ENDINGS = {
    "finished": "finished",
    "interrupted": "was interrupted",
    "diverged": "diverged",
    "failed": "failed",
}


@dataclass(frozen=True)
class VerdictRow:
    """A row of the table of theories; `figure` is the place of the figure to look at, or None.

    `theory` is the name of the theory, and `subject` what it is about in a few words.
    """

    theory: str
    predicted: str
    measured: str
    agrees: Agreement
    sentence: str
    look_at: str
    subject: str
    figure: int | None


@dataclass(frozen=True)
class RunView:
    """A run as shown: questions with answers, its story, the theories' verdicts, facts and evidence as (name, text)."""

    id: str
    title: str
    status: RunStatus
    questions: tuple[tuple[str, str], ...] = ()
    story: tuple[str, ...] = ()
    verdicts: tuple[VerdictRow, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()
    figures: tuple[FigureData, ...] = ()
    spec: str = ""
    command: str = ""
    created: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    anchor: str = ""


def run_view(record: RunRecord) -> RunView:
    """Return the view of a run's record.

    >>> from firstlight.records import RunSpec
    >>> view = run_view(RunRecord(spec=RunSpec(), status="finished", steps=500, seconds=12.0))
    >>> view.title, view.story
    ('Z71, two layers, width 2048, seed 0', ('The run finished after 500 epochs in 12 s.',))
    """
    asked = questions(record)
    return RunView(
        id=record.id,
        title=f"{run_title(record.spec)}, seed {record.spec.seed}",
        status=record.status,
        # With fewer answers the sentences of the run say more.
        questions=asked if len(asked) > 2 else (),
        story=_story(record),
        verdicts=_verdicts(record),
        facts=tuple((name, text_of(value)) for name, value in _facts(record)),
        evidence=_evidence(record),
        figures=record.figures,
        spec=dump_toml(record.spec, full=True),
        command="firstlight run spec.toml",
        created=record.created,
        versions=tuple(record.versions.items()),
        machine=machine_text(record.machine),
    )


def stories(record: RunRecord) -> tuple[str, ...]:
    """Return the story of the run, then the story of each lens, one sentence each."""
    return tuple(
        str(part["story"]) for part in (record.summary, *_lens_summaries(record).values()) if part.get("story")
    )


def _lens_summaries(record: RunRecord) -> dict[str, Mapping[str, Any]]:
    parts = {name: record.summary.get(name) for name in record.spec.lenses}
    return {name: part for name, part in parts.items() if isinstance(part, Mapping)}


def _story(record: RunRecord) -> tuple[str, ...]:
    clock = f"{record.spec.clock}{'s' * (record.steps != 1)}"
    ending = f"The run {_ENDINGS[record.status]} after {record.steps} {clock} in {duration(record.seconds)}."
    sentences = stories(record)
    message = _stopped(record) or record.message.partition("\n")[0].strip()
    is_told = any(message.rstrip(".") in sentence for sentence in sentences)
    # The message of an interrupted run says where it stopped, as the ending does.
    news = () if is_told or not message or record.status == "interrupted" else (message,)
    return (ending, *sentences, *news)


def _stopped(record: RunRecord) -> str:
    """Return the stop rule that ended a finished run, in words; '' if none did."""
    if record.status != "finished" or record.steps >= record.spec.steps:
        return ""
    for rule in record.spec.stop:
        if f"{rule.observable} ≥" in record.message and rule.at_least is not None:
            return f"It stopped by its rule: the {rule.observable.replace('_', ' ')} had reached {rule.at_least:g}."
    return ""


def _verdicts(record: RunRecord) -> tuple[VerdictRow, ...]:
    titles = [figure.title for figure in record.figures]
    return tuple(
        VerdictRow(
            **{**dict(verdict), "theory": theory_name(verdict.theory)},
            subject=THEORIES.get(verdict.theory, ("", ""))[1],
            figure=titles.index(verdict.look_at) if verdict.look_at in titles else None,
        )
        for verdict in in_order(record)
    )


def _facts(record: RunRecord) -> Iterator[tuple[str, Any]]:
    """Yield the single values of the summary under readable names; sentences are shown elsewhere."""
    for name, value in record.summary.items():
        if name != "story" and not isinstance(value, Mapping):
            yield name.replace("_", " "), value
    final = record.summary.get("final") or {}
    for name in (f"{half}_{quantity}" for quantity in ("accuracy", "loss") for half in ("train", "test")):
        if name in final:
            yield f"{name.replace('_', ' ')} at the end", final[name]
    for lens, part in _lens_summaries(record).items():
        for name, value in part.items():
            if isinstance(value, int | float):
                yield f"{lens}: {name.replace('_', ' ')}", value


def _evidence(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """Return the decisions of the lenses with their reasons, as rows of two cells."""
    parts = [part["evidence"] for part in record.summary.values() if isinstance(part, Mapping) and "evidence" in part]
    return tuple((str(decision), text_of(reason)) for part in parts for decision, reason in part.items())
