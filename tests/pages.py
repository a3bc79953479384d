"""Read the pages for people: their fenced blocks, the commands in them, and the commands named in running text."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted(ROOT.glob("docs/*.md")))

CONSOLE = ("console", "sh")
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^(?:\w+)?\$ ")
_SPAN = re.compile(r"`((?:firstlight|make) [^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line on which it begins, its language and its text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def file(self) -> str:
        """The file that a TOML block names in its first line, or ''."""
        named = re.match(r"# (\S+\.toml)\b", self.text)
        return named.group(1) if named else ""

    @property
    def doctest(self) -> bool:
        """Whether `test_guides.py` runs the block."""
        return ">>> " in self.text


@dataclass(frozen=True)
class Command:
    """A line for a shell, and the lines that the page shows as its output."""

    block: Block
    text: str
    shown: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The words of the line as a shell would split them, without the comment."""
        return shlex.split(self.text, comments=True)

    def __str__(self) -> str:
        """Return where the line stands and what it says."""
        return f"{self.block.page.name}, block at line {self.block.line}: {self.text}"


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found.group(2).strip(), found.group(3))
        for found in _FENCE.finditer(text)
    ]


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block.

    If any line begins with a prompt (`$`, `node$`), lines without one are output. Otherwise every line is a command.
    """
    lines = [line for line in block.text.splitlines() if line.strip()]
    if not any(_PROMPT.match(line) for line in lines):
        return [Command(block, line) for line in lines if not line.startswith("#")]
    starts = [place for place, line in enumerate(lines) if _PROMPT.match(line)]
    assert starts[0] == 0, f"{block.page.name}, line {block.line}: output before the first prompt"
    return [
        Command(block, _PROMPT.sub("", lines[start]), tuple(lines[start + 1 : end]))
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]


def spans(page: Path) -> list[str]:
    """Return the commands that running text and tables name in backticks."""
    return _SPAN.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
