"""The five theories in words for a reader who has not read the papers."""

from firstlight.records import RunRecord, TheoryVerdict

THEORIES: dict[str, tuple[str, str, str]] = {
    "li2": ("Li₂", "Grokking in three stages", "It says nothing about noisy labels, mini-batches or other losses."),
    "cogo": ("CoGO", "Networks crafted by algebra", "It describes optima, not the path or the time to reach them."),
    "agf": ("AGF", "Losses that fall in steps", "It describes gradient flow from tiny weights, without weight decay."),
    "manifold": (
        "Geometry",
        "The least norm at zero loss",
        "It says where training ends, not whether that generalises.",
    ),
    "fact": ("FACT", "What weights satisfy at rest", "It says nothing before the weights come to rest."),
}
"""Lens → name, subject, what the theory does not claim."""


def theory_name(lens: str) -> str:
    """Return the name of a lens's theory; lenses of packs keep their own name.

    >>> theory_name("li2"), theory_name("parseval")
    ('Li₂', 'parseval')
    """
    return THEORIES[lens][0] if lens in THEORIES else lens


def in_order(record: RunRecord) -> tuple[TheoryVerdict, ...]:
    """Return the verdicts of a run, the five theories first and always in the same order."""
    places = {lens: place for place, lens in enumerate(THEORIES)}
    return tuple(sorted(record.verdicts, key=lambda verdict: places.get(verdict.theory, len(places))))
