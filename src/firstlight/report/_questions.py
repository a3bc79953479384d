"""Five questions about a run and their answers, for a reader who has not read the papers."""

import re
from collections.abc import Mapping, Sequence

from firstlight.records import GroupTask, RunRecord, TheoryVerdict, TwoLayerModel
from firstlight.report._theories import in_order, theory_name

QUESTIONS = (
    "What was trained?",
    "What happened?",
    "What was forecast before training, and was it right?",
    "What did the network learn?",
    "Which theories were right, and which make no claim here?",
)


def questions(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """Return the five questions with their answers; without those that the record does not answer.

    >>> from firstlight.records import RunSpec
    >>> questions(RunRecord(spec=RunSpec(), status="finished"))[0]  # doctest: +ELLIPSIS
    ('What was trained?', 'A network of 2048 hidden units, ... It sees 40% of all pairs; the others are held out.')
    """
    board = in_order(record)
    answers = (_trained(record), _happened(record), _forecast(record, board), _learned(record), _judged(board))
    return tuple((question, answer) for question, answer in zip(QUESTIONS, answers, strict=True) if answer)


def _trained(record: RunRecord) -> str:
    task, model = record.spec.task, record.spec.model
    if not isinstance(task, GroupTask) or not isinstance(model, TwoLayerModel) or task.factors != 2:
        return ""
    modulus = task.group.removeprefix("Z")
    goal = f"add two numbers modulo {modulus}" if modulus.isdecimal() else f"multiply two elements of {task.group}"
    whole = task.split.fraction is None or task.split.fraction == 1
    share = "" if whole else f" It sees {task.split.fraction:.0%} of all pairs; the others are held out."
    return f"A network of {model.width} hidden units, to {goal}.{share}"


def _happened(record: RunRecord) -> str:
    memorised, generalised = (record.summary.get(f"{name}_at") for name in ("memorised", "generalised"))
    clock = record.spec.clock
    if memorised is None:
        return ""
    if generalised is None:
        return (
            f"It had memorised the training pairs at {clock} {memorised}, and did not generalise to the held-out pairs "
            f"by {clock} {record.steps}."
        )
    if generalised <= memorised:
        return f"It learned the training pairs and the held-out pairs together, by {clock} {memorised}."
    return (
        f"It had memorised the training pairs at {clock} {memorised}, knew nothing about the held-out pairs for a long "
        f"time, and generalised to them at {clock} {generalised}. This delay is called grokking."
    )


def _forecast(record: RunRecord, board: Sequence[TheoryVerdict]) -> str:
    verdict = next((row for row in board if row.theory == "li2"), None)
    if verdict is None or not verdict.predicted:
        return ""
    right = {"yes": "the forecast was right", "no": "the forecast was wrong", "does not apply": "the run cannot tell"}
    predicted = verdict.predicted.replace(_IN_THE_FIT, "")
    answer = f"{theory_name('li2')} forecast: {predicted}. Measured: {verdict.measured}; {right[verdict.agrees]}."
    if missed := _missed_memorising(record):
        answer += f" Its forecast for memorising was wrong: {missed}."
    if predicted != verdict.predicted:
        answer += " This is no independent test: the forecast was fitted to runs that include this setting."
    return answer


_IN_THE_FIT = "; a run of this setting was in the fit"


def _missed_memorising(record: RunRecord) -> str:
    """Return when the run memorised and the band, from the figure of the forecast, if it was outside; or ''."""
    captions = " ".join(figure.caption for figure in record.figures if figure.title == "The forecast and the run")
    missed = re.search(r"It (memorised at [^.]*, outside the band of [^.]*)\.", captions)
    return f"the network {missed.group(1)}" if missed else ""


def _learned(record: RunRecord) -> str:
    part = record.summary.get("li2")
    if not isinstance(part, Mapping) or not part.get("learned_irreps") or "chance_purity" not in part:
        return ""
    last = part.get("last")
    purity = last.get("purity") if isinstance(last, Mapping) else None
    group = record.spec.task.group if isinstance(record.spec.task, GroupTask) else ""
    modulus = group.removeprefix("Z")
    circle = f"that repeats a whole number of times around the circle of {modulus} numbers"
    wave = circle if modulus.isdecimal() else "that the group allows"
    share = (
        ""
        if purity is None
        else f" In the end this irrep holds {purity:.0%} of a unit's weights ({part['chance_purity']:.0%} by chance)."
    )
    return (
        f"Waves. An irrep is a wave {wave}. Each hidden unit leans more and more towards one irrep.{share} "
        f"{part['learned_irreps']} irreps have more units than chance would give. "
        f"The units of one irrep place the {'numbers' if modulus.isdecimal() else 'elements'} on a ring."
    )


def _judged(board: Sequence[TheoryVerdict]) -> str:
    groups = {
        "Right": [row for row in board if row.agrees == "yes"],
        "Wrong": [row for row in board if row.agrees == "no"],
        "No claim about this run": [row for row in board if row.agrees == "does not apply"],
    }
    words = [f"{head}: {', '.join(theory_name(row.theory) for row in rows)}." for head, rows in groups.items() if rows]
    if groups["No claim about this run"]:
        words.append("A theory without a claim has not failed:")
        words += dict.fromkeys(_first_sentence(row.sentence) for row in groups["No claim about this run"])
    return " ".join(words)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", text, maxsplit=1)[0]
