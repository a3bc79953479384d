"""The words of STYLE: plain prose, variables named after the thing, one format for documented arguments."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = sorted(path for top in ("src", "benchmarks", "examples", "tools") for path in (ROOT / top).rglob("*.py"))
# This file has to name the words.
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.txt")]
OTHER = sorted([*(ROOT / "src").rglob("*.html"), *PAGES])

# Words that a reader has to decode, each with what to write.
WORDS = {
    r"anew": "again",
    r"dear": "expensive",
    r"whom": "name the person or the callback",
    r"told": "say who reports what",
    r"so many": "give the number",
    r"anybody": "any caller",
    r"as it likes": "optional",
    r"one's": "your, or the user's",
    r"whosoever|whoso|wherein|thereof|hence|alas": "a plain word",
}
VARIABLES = {"found", "one", "kept", "told"}
SECTIONS = re.compile(r"^\s*(Args|Arguments|Attributes|Parameters|Returns|Raises|Yields):\s*$", re.MULTILINE)
BULLETS = re.compile(r"^( *)\*\*(Arguments|Attributes):\*\*\n(.*\n)(.*)", re.MULTILINE)
NUMPYDOC = {"RFMClassifier", "RFMRegressor"}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and string literals of a file, with their lines; the code in doctests is left out."""
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type == tokenize.STRING:
            for offset, line in enumerate(token.string.splitlines()):
                if not line.lstrip().startswith((">>>", "...")):
                    yield token.start[0] + offset, line
        elif token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            yield token.start[0], token.string


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module assigns, loops over, takes as an argument or imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """(line, name, text) of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), getattr(node, "name", ""), text


def words_of(path: Path) -> list[str]:
    """Each banned word of a file as `line: word, write …`."""
    lines = prose(path) if path.suffix == ".py" else enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return [
        f"{number}: {match.group()!r}, write {advice}"
        for number, line in lines
        for pattern, advice in WORDS.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", line, re.IGNORECASE)
    ]


def variables_of(path: Path) -> list[str]:
    """Each variable of a file that names nothing."""
    names = bound_names(ast.parse(path.read_text(encoding="utf-8")))
    return [f"{number}: the variable {name!r} names nothing" for number, name in names if name in VARIABLES]


def sections_of(path: Path) -> list[str]:
    """Each docstring of a file whose arguments are not bullets under `**Arguments:**`."""
    problems = []
    for number, name, text in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
        if name in NUMPYDOC:
            continue
        problems += [f"{number}: {match.group().strip()} in {name}" for match in SECTIONS.finditer(text)]
        problems += [
            f"{number}: {name} has no bullets under {title}"
            for indent, title, blank, bullet in BULLETS.findall(text)
            if blank.strip() or not bullet.startswith(f"{indent}- `")
        ]
    return problems


@pytest.mark.parametrize("rule", [words_of, variables_of, sections_of])
def test_every_file_follows_the_house_style(rule):
    files = PYTHON + (OTHER if rule is words_of else []) + ([] if rule is variables_of else TESTS)
    problems = [f"{path.relative_to(ROOT)}:{problem}" for path in files for problem in rule(path)]
    assert not problems, "\n".join(problems)


def test_the_rules_find_what_they_forbid(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text('def f(told):\n    """Do it anew.\n\n    Args:\n        told: x.\n    """\n    found = 1  # dear\n')
    assert [len(rule(path)) for rule in (words_of, variables_of, sections_of)] == [3, 2, 1]


if __name__ == "__main__":
    import sys

    for name in sys.argv[1:]:
        for path in sorted(Path(name).rglob("*.py")) if Path(name).is_dir() else [Path(name)]:
            for problem in (p for rule in (words_of, variables_of, sections_of) for p in rule(path)):
                print(f"{path}:{problem}")
