"""Streams that never fail: closed ones are silent, and every character has a readable form in any encoding."""

import codecs
import functools
import io
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from firstlight.cli import _exits as exits
from firstlight.records._shorten import shorten

LONGEST = 2000
"""Characters of a message, at most."""

_HANDLER = "firstlight.readable"
_LINES = 12
_PLAIN = {
    **dict.fromkeys("−–—‐", "-"),
    **dict.fromkeys("‖∥", "||"),
    **dict.fromkeys("·∗⋅•", "*"),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("→↦", "->"),
    "…": "...",
    "×": "x",
    "±": "+/-",
    "√": "sqrt ",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "≈": "~",
    "≡": "==",
    "∝": "~",
    "←": "<-",
    "∞": "inf",
    "⟨": "<",
    "⟩": ">",
    "∈": "in",
    "∉": "not in",
    "∏": "prod",
    "∑": "sum",
    "∫": "int",
    "∂": "d",
    "∇": "grad ",
    "⊥": "perp",
    "∘": "o",
    "⊛": "(*)",
    "⊗": "(x)",
    "⊕": "(+)",
    "⁄": "/",
    "≪": "<<",
    "≫": ">>",
    "≲": "<~",
    "≳": ">~",
    "≅": "~=",
    "⋮": ":",
    "∩": "&",
    "⊆": "<=",
    "∠": "angle ",
    "⌊": "[",
    "⌋": "]",
    "∖": "\\",
    "⋊": "x|",
    "✓": "+",
    "✗": "-",
    "°": " deg",
    "§": "section ",
    "\xa0": " ",
}


def readable(text: str) -> str:
    r"""Convert text to ASCII; escape characters without a spelling.

    >>> readable("‖λ‖² ≥ 10⁻³ for Li₂ ✓"), readable("│⠉⣿\ud800")
    ('||lambda||^2 >= 10^-3 for Li2 +', '|.#\\ud800')
    """
    parts, raised = [], False
    for sign in text:
        above = unicodedata.decomposition(sign).startswith("<super>")
        parts.append("^" * (above and not raised) + _spelled(sign))
        raised = above
    return "".join(parts)


def _spelled(sign: str) -> str:
    if sign.isascii():
        return sign
    if sign in _PLAIN:
        return _PLAIN[sign]
    name = unicodedata.name(sign, "")
    if name.startswith("BRAILLE"):
        return " ..::####"[(ord(sign) - 0x2800).bit_count()]
    if name.startswith("BOX DRAWINGS"):
        return {"HORIZONTAL": "-", "VERTICAL": "|"}.get(name.split()[-1], "+")
    if "BLOCK" in name or "SHADE" in name:
        return "#"
    if name.startswith("GREEK") and "LETTER" in name:
        word = name.split("LETTER ")[1].split()[0].lower().replace("lamda", "lambda")  # as Unicode has it
        return word.capitalize() if "CAPITAL" in name else word
    plain = "".join(_PLAIN.get(c, c) for c in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(c))
    return plain if plain.isascii() and sign != plain else sign.encode("ascii", "backslashreplace").decode()


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return readable(error.object[error.start : error.end]), error.end


codecs.register_error(_HANDLER, _replace)


def on_any_terminal(command: Callable[..., int]) -> Callable[..., int]:
    """Let `command` print whatever it likes to whatever stdout and stderr are; returns its exit code."""

    @functools.wraps(command)
    def guarded(argv: Sequence[str] | None = None) -> int:
        with _open_streams(), _readable_streams():
            try:
                code = command(argv)
            except BrokenPipeError:
                code = exits.BROKEN_PIPE
            return max(code, *(_settle(stream) for stream in (sys.stdout, sys.stderr)))

    return guarded


def can_show(text: str, stream: Any) -> bool:
    """Whether the stream's encoding has every character of the text."""
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def wrapped(text: str, stream: Any) -> str:
    """Wrap text to the width of the terminal without breaking words; leave it unchanged for a file or a pipe."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = (_wrapped_line(line, width) if len(line) > width else line for line in text.split("\n"))
    return "\n".join(lines)


def say_error(message: str) -> None:
    """Print an error on stderr: a few lines, of at most `LONGEST` characters together."""
    lines = message.splitlines() or ["unknown"]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"… and {len(lines) - _LINES + 1} more lines"]
    each = max(LONGEST // len(lines) - len("error: "), 60)
    for line in lines:
        print(wrapped(f"error: {shorten(line, each)}", sys.stderr), file=sys.stderr)


def _wrapped_line(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@contextmanager
def _open_streams() -> Iterator[None]:
    """Put the null device where a stream is closed, so that no file that is opened later takes its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    closed = {name: number for number, name in enumerate(("stdin", "stdout", "stderr")) if getattr(sys, name) is None}
    for name, number in closed.items():
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
    yield


@contextmanager
def _readable_streams() -> Iterator[None]:
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, io.TextIOWrapper)]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors=_HANDLER)
    try:
        yield
    finally:
        for stream, errors in zip(streams, before, strict=True):
            stream.reconfigure(errors=errors)


def _settle(stream: Any) -> int:
    """Write what is left; where that fails, drop it, or Python would complain once more at its exit."""
    try:
        stream.flush()
    except (OSError, ValueError) as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return exits.BROKEN_PIPE if isinstance(error, BrokenPipeError) else exits.USER_ERROR
    return exits.OK
