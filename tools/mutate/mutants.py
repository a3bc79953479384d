"""Mutants of the covered lines, drawn in an order fixed by a seed, and the list of equivalent mutants."""

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from tools.mutate.operators import Change, changed, changes
from tools.mutate.recording import ROOT, Recording, sources

EQUIVALENTS = Path(__file__).parent / "equivalents.toml"
PRESENTATION = ("_figures.py", "_page.py", "_view.py", "_html.py", "_result.py", "_progress.py", "_checkpoint.py")
"""Modules that show results or write files, whose tests check text and bytes. `_experiments` prepare claims."""


@dataclass(frozen=True)
class Mutant:
    """A file with one change, identified by the text of the line before and after, without line numbers."""

    file: str
    change: Change
    before: str
    after: str

    @property
    def key(self) -> str:
        """The key under which a result is stored."""
        return f"{self.file}:{self.change.start}:{self.change.end}: {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.change.line} ({self.change.operator})\n  - {self.before}\n  + {self.after}"


def draw(recording: Recording, count: int, seed: int) -> list[Mutant]:
    """Return the first `count` covered mutants in the order of the seed: places in random order, one change at each.

    A place is ordered by a digest of the seed, its file and its line, so a change of other lines keeps the draw.
    """
    places: list[tuple[str, Mutant]] = []
    for path in sources():
        if path.name not in PRESENTATION and path.parent.name != "_experiments":
            places += _places(path, seed)
    places.sort(key=lambda place: place[0])
    covered = (m for _, m in places if recording.covering(m.file, m.change.line, m.change.statement))
    return list(islice(covered, count))


def _places(path: Path, seed: int) -> list[tuple[str, Mutant]]:
    """Return one mutant at each expression of a module, with the digest that orders them."""
    file, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    made, seen = [], Counter()
    for (start, end), choices in groupby(changes(text), key=lambda change: (change.start, change.end)):
        options = list(choices)
        line = mutant(file, text, options[0]).before
        name = f"{seed} {file} {line} {text.encode()[start:end].decode()}"
        seen[name] += 1
        order = hashlib.sha256(f"{name} {seen[name]}".encode()).hexdigest()
        made.append((order, mutant(file, text, options[int(order[:8], 16) % len(options)])))
    return made


def mutant(file: str, text: str, change: Change) -> Mutant:
    """Return the mutant of a change, with the text of its lines before and after."""
    raw, after = text.encode(), changed(text, change).encode()
    first = raw.rfind(b"\n", 0, change.start) + 1
    last = raw.find(b"\n", change.end)
    tail = len(raw) - (last if last >= 0 else len(raw))

    def lines(source: bytes) -> str:
        return " ".join(source[first : len(source) - tail].decode().split())

    return Mutant(file, change, lines(raw), lines(after))


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return why mutants change nothing that a test could see, by file, line before and line after."""
    entries = tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["file"], entry["before"], entry["after"]): entry["reason"] for entry in entries}
