"""Mutants of the covered lines, drawn in an order that a seed fixes, and those known to change nothing."""

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.mutate.operators import Change, changed, changes
from tools.mutate.recording import ROOT, Recording, sources

EQUIVALENTS = Path(__file__).parent / "equivalents.toml"
PRESENTATION = ("figures.py", "page.py", "view.py", "_html.py", "result.py", "_progress.py", "_checkpoint.py")
"""Modules that show results or write files: their tests are about text and bytes. `experiments` set claims up."""


@dataclass(frozen=True)
class Mutant:
    """A file with one change: the lines before and after it name the mutant, whatever their numbers are."""

    file: str
    change: Change
    before: str
    after: str

    @property
    def key(self) -> str:
        """What a result is stored under."""
        return f"{self.file}:{self.change.start}:{self.change.end}: {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.change.line} ({self.change.operator})\n  - {self.before}\n  + {self.after}"


def draw(recording: Recording, count: int, seed: int) -> list[Mutant]:
    """The first `count` covered mutants in the order of the seed: places in random order, one change at each."""
    rng = random.Random(seed)
    places: list[list[tuple[Path, str, Change]]] = []
    for path in sources():
        if path.name in PRESENTATION or path.parent.name == "experiments":
            continue
        text, last = path.read_text(encoding="utf-8"), None
        for change in changes(text):
            if last != (change.start, change.end):
                places.append([])
            places[-1].append((path, text, change))
            last = (change.start, change.end)
    rng.shuffle(places)
    chosen: list[Mutant] = []
    for place in places:
        path, text, change = rng.choice(place)
        file = path.relative_to(ROOT).as_posix()
        if len(chosen) < count and recording.covering(file, change.line, change.statement):
            chosen.append(mutant(file, text, change))
    return chosen


def mutant(file: str, text: str, change: Change) -> Mutant:
    """The mutant of one change, with the lines around it."""
    raw, after = text.encode(), changed(text, change).encode()
    first = raw.rfind(b"\n", 0, change.start) + 1
    last = raw.find(b"\n", change.end)
    tail = len(raw) - (last if last >= 0 else len(raw))

    def lines(source: bytes) -> str:
        return " ".join(source[first : len(source) - tail].decode().split())

    return Mutant(file, change, lines(raw), lines(after))


def equivalents() -> dict[tuple[str, str, str], str]:
    """The reasons why mutants change nothing that a test could see, by file, line before and line after."""
    entries = tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["file"], entry["before"], entry["after"]): entry["reason"] for entry in entries}
