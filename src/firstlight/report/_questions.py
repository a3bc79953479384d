"""Five questions about a run and their answers, for a reader who has not read the papers."""

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
    answers = (_trained(record), _happened(record), _forecast(board), _learned(record), _judged(board))
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


def _forecast(board: Sequence[TheoryVerdict]) -> str:
    verdict = next((row for row in board if row.theory == "li2"), None)
    if verdict is None or not verdict.predicted:
        return ""
    right = {"yes": "The forecast was right", "no": "The forecast was wrong", "does not apply": "The run cannot tell"}
    return f"The theory {theory_name('li2')} said: {verdict.predicted}. {right[verdict.agrees]}: {verdict.measured}."


def _learned(record: RunRecord) -> str:
    part = record.summary.get("li2")
    if not isinstance(part, Mapping) or not part.get("learned_irreps") or "chance_purity" not in part:
        return ""
    last = part.get("last")
    purity = last.get("purity") if isinstance(last, Mapping) else None
    share = "" if purity is None else f" ({purity:.0%} of a unit's weights, {part['chance_purity']:.0%} by chance)"
    return (
        f"Waves: each hidden unit leans more and more towards one irrep{share}, and {part['learned_irreps']} irreps "
        "have more units than chance would give. The units of one irrep place the elements on a circle."
    )


def _judged(board: Sequence[TheoryVerdict]) -> str:
    groups = {
        "Right": [row for row in board if row.agrees == "yes"],
        "Wrong": [row for row in board if row.agrees == "no"],
        "No claim": [row for row in board if row.agrees == "does not apply"],
    }
    words = [f"{head}: {', '.join(theory_name(row.theory) for row in rows)}." for head, rows in groups.items() if rows]
    return " ".join([*words, "The table says why."]) if words else ""
