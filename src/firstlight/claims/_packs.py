"""Write a package that registers the claims of another paper: one worked claim, its test and its evidence."""

import importlib
import re
import sys
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from string import Template

from firstlight._files import write_atomically
from firstlight.claims._check import Setting
from firstlight.claims._evidence import record_evidence
from firstlight.claims._pack import Pack
from firstlight.claims._registry import papers
from firstlight.claims._verify import verify

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "src/{module}/__init__.py": "init.py.txt",
    "src/{module}/statements.py": "statements.py.txt",
    "src/{module}/checks.py": "checks.py.txt",
    "src/{module}/lenses.py": "lenses.py.txt",
    "src/{module}/docs.md": "docs.md.txt",
    "tests/test_{module}.py": "test.py.txt",
}
"""File of the new package → file of the template."""


def write_pack(name: str, folder: Path) -> Path:
    """Write a package `<folder>/<name>` with one claim that holds; return its path.

    **Arguments:**

    - `name`: the key of the paper, in small letters, digits and dashes; the module has underscores instead.
    - `folder`: where the package goes; a folder of that name must not exist there.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a paper's name has small letters, digits and dashes, such as my-paper; got {name!r}")
    if name in [paper.key for paper in papers()]:
        raise ValueError(f"{name!r} is the key of a registered paper; choose another name")
    target = folder / name
    if target.exists():
        raise FileExistsError(f"{target} exists; choose another name or --folder")
    module = name.replace("-", "_")
    templates = resources.files("firstlight.claims") / "templates"
    for path, template in _FILES.items():
        text = Template((templates / template).read_text(encoding="utf-8")).substitute(name=name, module=module)
        destination = target / path.format(module=module)
        destination.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(destination, text.encode())
    _record(target, module)
    return target


def _record(target: Path, module: str) -> None:
    """Run the checks of a new package and record their evidence in it."""
    with _importable(target / "src", module):
        pack: Pack = importlib.import_module(module).PACK
        for claim in pack.claims:
            record_evidence(*verify(claim, Setting("quick")), folder=pack.paper.evidence)


@contextmanager
def _importable(folder: Path, module: str):
    """Make a module importable inside the block, and forget it afterwards."""
    path = str(folder.resolve())
    sys.path.insert(0, path)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(path)
        for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
            del sys.modules[name]
