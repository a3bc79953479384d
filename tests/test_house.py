"""The house: import contracts that fail when broken, one door per folder, tiers in the API."""

import ast
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import firstlight

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
THEORIES = ("agf", "cogo", "fact", "li2", "manifold")

# Each contract of pyproject.toml, and an import that breaks it: (file, line).
BREACHES = {
    "Imports point down": ("groups/_laws.py", "import firstlight.tasks"),
    "Theories do not import each other": ("theories/li2/_lens.py", "import firstlight.theories.agf"),
    "torch stays in probes": ("rfm/_estimator.py", "import torch"),
    "The web framework stays in lab": ("report/_page.py", "import starlette"),
    "groups, records, plots and report know no JAX": ("plots/_draw.py", "import jax"),
    "rfm and probes import no JAX of their own": ("probes/_result.py", "import jax"),
}


def contracts(root: Path) -> tuple[int, str]:
    """Exit code and output of `lint-imports` on a copy of the project."""
    words = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as f; f()", "--no-cache"]
    done = subprocess.run(
        words, cwd=root, env={"PYTHONPATH": str(root / "src"), "PATH": ""}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(SOURCE, root / "src", ignore=shutil.ignore_patterns("__pycache__", "evidence"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def test_every_contract_has_a_breach():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert {contract["name"] for contract in settings["contracts"]} == set(BREACHES)


@pytest.fixture(scope="module")
def breached(copy):
    """What `lint-imports` says of a copy with all breaches: exit code, list of contracts, and the section of each."""
    texts = {}
    for file, line in BREACHES.values():
        path = copy / "src" / "firstlight" / file
        texts[path] = path.read_text(encoding="utf-8")
        path.write_text(f"{texts[path]}\n{line}\n", encoding="utf-8")
    code, output = contracts(copy)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    summary, _, details = output.partition("Broken contracts")
    starts = sorted((details.index(f"\n{name}\n"), name) for name in BREACHES if f"\n{name}\n" in details)
    ends = [place for place, _ in starts[1:]] + [len(details)]
    return code, summary, {name: details[start:end] for (start, name), end in zip(starts, ends, strict=True)}


@pytest.mark.parametrize("name", BREACHES)
def test_a_broken_contract_fails(breached, name):
    code, summary, sections = breached
    assert code == 1
    assert f"{name} BROKEN" in summary
    file, line = BREACHES[name]
    importer = "firstlight." + file.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {line.removeprefix('import ')} (l." in sections[name]


def test_a_new_folder_without_a_layer_fails(copy):
    folder = copy / "src" / "firstlight" / "attic"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    code, output = contracts(copy)
    shutil.rmtree(folder)
    assert code == 1, output
    assert "attic" in output


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every `firstlight` name that a file imports, dotted, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "firstlight":
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.partition(".")[0] == "firstlight")


def folder_of(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The folder that a module belongs to; each theory is a folder of its own."""
    return parts[: 3 if parts[1:2] == ("theories",) else 2]


def test_a_folder_is_entered_by_its_door():
    """A name that a folder exports is imported from the folder, not from the private module that defines it."""
    problems = []
    for path in sorted(SOURCE.rglob("*.py")):
        own = folder_of(path.relative_to(SOURCE).with_suffix("").parts)
        for line, name in imports(path):
            *module, leaf = parts = tuple(name.split("."))
            private = any(part.startswith("_") for part in module[2:])
            if (
                private
                and folder_of(parts) != own
                and leaf in importlib.import_module(".".join(folder_of(parts))).__all__
            ):
                problems.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not problems, "\n".join(problems)


def packages() -> list[str]:
    names = [info.name for info in pkgutil.walk_packages(firstlight.__path__, "firstlight.") if info.ispkg]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


@pytest.mark.parametrize("name", packages())
def test_no_name_is_both_a_module_and_something_else(name):
    package = importlib.import_module(name)
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    for shared in modules & set(getattr(package, "__all__", ())):
        assert getattr(package, shared) is sys.modules[f"{name}.{shared}"], f"{name}.{shared} has two meanings"


@pytest.mark.parametrize("theory", THEORIES)
def test_a_theory_exports_few_names_and_its_lemmas_apart(theory):
    package = importlib.import_module(f"firstlight.theories.{theory}")
    assert len(package.__all__) <= 25
    lemmas = importlib.import_module(f"firstlight.theories.{theory}.lemmas")
    assert lemmas.__doc__
    assert not set(lemmas.__all__) & set(package.__all__)


def test_public_modules_are_the_named_namespaces_only():
    allowed = {"firstlight.records.figure", "firstlight.flow.population"}
    allowed |= {f"firstlight.theories.{theory}" for theory in (*THEORIES, "progress")}  # measures have no lemmas
    allowed |= {f"firstlight.theories.{theory}.lemmas" for theory in THEORIES}
    public = set()
    for path in sorted((SOURCE / "firstlight").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if len(parts) > 2 and not any(part.startswith("_") for part in parts):
            public.add(".".join(parts))
    exempt = ("firstlight.claims.", "firstlight.cli.commands")
    assert {name for name in public if not name.startswith(exempt)} == allowed


def test_a_public_name_means_one_thing_in_every_folder():
    """`predict` is a forecast in two theories; every theory has its `LENSES` and `lemmas`."""
    homes: dict[str, dict[int, str]] = {}
    for name in packages():
        package = importlib.import_module(name)
        for public in getattr(package, "__all__", ()):
            homes.setdefault(public, {})[id(getattr(package, public))] = name
    shared = {public: sorted(names.values()) for public, names in homes.items() if len(names) > 1}
    exempt = ("LENSES", "lemmas", "predict", "CLAIMS")
    assert {public: names for public, names in shared.items() if public not in exempt} == {}


def walks() -> dict[str, list[str]]:
    """The walks of CONTRIBUTING.md: heading → `file:function` hops."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Three walks")[2].partition("\n## ")[0]
    entries = section.split("\n* **")[1:]
    return {entry.partition("**")[0]: re.findall(r"`([\w/<>]+\.py:[\w<>]+)`", entry) for entry in entries}


@pytest.mark.parametrize(
    ("walk", "most"), [("A spec (TOML) → page", 25), ("A claim → page", 13), ("A table (CSV) → page", 25)]
)
def test_a_walk_is_short_and_every_hop_exists(walk, most):
    hops = walks()[walk]
    assert 10 <= len(hops) <= most
    for hop in hops:
        file, _, function = hop.partition(":")
        if "<" in hop:
            continue
        tree = ast.parse((SOURCE / "firstlight" / file).read_text(encoding="utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert function in names | imported, hop
