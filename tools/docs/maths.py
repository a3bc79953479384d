"""LaTeX as docutils reads it, and MathML as browsers draw it."""

import re

_ARGUMENT = r"\s*(\{[^{}]*\}|\\[a-zA-Z]+|[^\s\\{}])"
_FRACTION = re.compile(r"(\\[td]?frac)(?![a-zA-Z])" + _ARGUMENT + _ARGUMENT)


def _with_braces(fraction: re.Match[str]) -> str:
    r"""Docutils would read `\frac12 x` as 12 over x."""
    name, *parts = fraction.groups()
    return name + "".join(part if part.startswith("{") else f"{{{part}}}" for part in parts)


def known_commands(tex: str) -> str:
    r"""Return LaTeX as docutils reads it: fractions with braces, and without commands that MathML does not need.

    >>> known_commands(r"\Big(\frac12\Big)^2, \frac1\lambda W, \frac{d}{dt}, \dots")
    '(\\frac{1}{2})^2, \\frac{1}{\\lambda} W, \\frac{d}{dt}, \\ldots'
    """
    tex = _FRACTION.sub(_with_braces, tex)
    tex = re.sub(r"\\(?:[Bb]ig{1,2}[lr]?|textstyle)(?![a-zA-Z])\s*", "", tex)
    return re.sub(r"\\dots(?![a-zA-Z])", r"\\ldots", tex)


def even_bars(markup: str) -> str:
    """Return MathML in which the bars of a norm do not stretch; with an exponent at one of them their heights differ.

    >>> even_bars('<mo class="mathopen">‖</mo><mi>V</mi>')
    '<mo stretchy="false">‖</mo><mi>V</mi>'
    """
    return re.sub(r"<mo[^>]*>‖</mo>", '<mo stretchy="false">‖</mo>', markup)
