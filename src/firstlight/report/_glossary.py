"""Words of a page that a newcomer may not know, linked to their meaning where the page first uses them."""

import re
from dataclasses import dataclass, field
from typing import Any

TERMS: dict[str, tuple[str, str]] = {
    "epoch": (r"epochs?", "One pass over all training pairs; one update of the weights if there are no mini-batches."),
    "hidden unit": (
        r"hidden units?",
        "One of the numbers between the inputs and the outputs, with weights of its own.",
    ),
    "memorise": (r"memoris\w+", "Answering at least 99 % of the training pairs correctly."),
    "generalise": (r"generalis\w+", "Answering at least 99 % of the held-out pairs correctly."),
    "held-out pairs": (r"held-out(?: pairs)?|held out|test pairs", "Pairs that the network never sees in training."),
    "grokking": (r"[Gg]rokking|grokked", "Generalising long after the training pairs were memorised."),
    "forecast": (r"[Ff]orecast", "What a theory says from the setting alone, before the first update of the weights."),
    "irrep": (
        r"irreps?",
        "Irreducible representation: one of the basic waves of a group. For sums modulo M these are the frequencies "
        "±1, ±2, … around the circle of M numbers.",
    ),
    "frequency": (r"frequenc(?:y|ies)", "How many times a wave repeats around the circle of M numbers."),
    "purity": (
        r"[Pp]urity",
        "The share of a hidden unit's weights that lies in its strongest irrep; 1 is a pure wave.",
    ),
    "norm": (r"[Nn]orms?\b", "The size of the weights: the square root of the sum of their squares."),
    "W": (r"\bW\b", "The input weights, from the one-hot inputs to the hidden units."),
    "V": (r"\bV\b", "The output weights, from the hidden units to the answers."),
    "G_F": (
        r"G_F|[Bb]ackpropagated gradient|gradient that reaches it",
        "The gradient that training sends back to the hidden units; it tells each unit what to become.",
    ),
    "weight decay": (r"[Ww]eight decay", "A pull of every weight towards zero, at every update."),
    "zero-loss set": (
        r"zero-loss set|zero loss|weights that fit exactly",
        "All weights that answer every training pair exactly.",
    ),
    "gradient flow": (r"gradient flow", "Training with infinitely small steps along the gradient."),
    "Adam": (r"\bAdam\b", "A common training rule that gives every weight a step size of its own."),
    "potential": (
        r"potentials?",
        "How strongly the hidden units work together on one triple of frequencies (input, input, output).",
    ),
    "order": (r"\bblocks? of\b", "The number of hidden units that serve one frequency; CoGO crafts orders 4 and 6."),
    "FACT": (r"\bFACT\b", "The features that a layer must have when training with weight decay has come to rest."),
    "stage": (r"[Ss]tages?", "One of the three parts of grokking in Li₂: lazy, independent, interactive."),
}
"""Term → pattern of its forms, meaning."""


@dataclass
class Glossary:
    """The terms that a page has used so far, each linked once."""

    used: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> Any:
        """Return the text, escaped, with the first use of each term as a link to its meaning."""
        from markupsafe import Markup, escape

        pieces: list[Any] = [text]
        for term, (pattern, _) in TERMS.items():
            if term not in self.used:
                pieces = self._linked(term, pattern, pieces)
        return Markup("").join(piece if isinstance(piece, Markup) else escape(piece) for piece in pieces)

    def _linked(self, term: str, pattern: str, pieces: list[Any]) -> list[Any]:
        from markupsafe import Markup

        for place, piece in enumerate(pieces):
            match = None if isinstance(piece, Markup) else re.search(rf"(?<!\w)(?:{pattern})(?!\w)", piece)
            if match:
                self.used.append(term)
                link = Markup('<a class="term" href="#{}">{}</a>').format(anchor(term), match[0])
                return [*pieces[:place], piece[: match.start()], link, piece[match.end() :], *pieces[place + 1 :]]
        return pieces

    def meanings(self) -> list[tuple[str, str, str]]:
        """Return (anchor, term, meaning) of the terms that were used, in the order of the list."""
        return [(anchor(term), term, meaning) for term, (_, meaning) in TERMS.items() if term in self.used]


def anchor(term: str) -> str:
    """Return the name of a term's place on the page.

    >>> anchor("hidden unit")
    'term-hidden-unit'
    """
    return f"term-{term.replace(' ', '-')}"
