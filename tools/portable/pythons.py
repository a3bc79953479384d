"""Other versions of Python, each in its own environment without torch."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools.portable.parts import ROOT, Part
from tools.portable.settings import Setting


def interpreter(version: str) -> str | None:
    """Return a working interpreter of this version, from the path or else from pyenv; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]
    for candidate in filter(None, candidates):
        if subprocess.run([candidate, "-c", "import venv"], capture_output=True).returncode == 0:
            return candidate
    return None


def requirements(pyproject: Path) -> list[str]:
    """Return the packages that the tests need: the test extra without torch and without the linters."""
    test = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]["test"]
    names = {requirement: re.split(r"[\[=<>~ ]", requirement)[0] for requirement in test}
    left_out = {"firstlight", "torch", "ruff", "pyright", "import-linter"}
    return [requirement for requirement, name in names.items() if name not in left_out]


def without_torch(part: Part, root: Path = ROOT) -> list[str]:
    """Return the pytest options that leave out the part's files that import torch."""
    files = [file for target in part.targets for file in sorted((root / target.partition("::")[0]).rglob("*.py"))]
    imports = re.compile(r"^\s*(import|from) torch\b", re.MULTILINE)
    return [f"--ignore={file.relative_to(root)}" for file in files if imports.search(file.read_text())]


def installed(constraints: str | None, root: Path = ROOT) -> str:
    """Return a digest of the files that define an environment; `make` passes the constraints in PIP_CONSTRAINT."""
    files = [root / "pyproject.toml", *([root / constraints] if constraints else [])]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def python_settings(versions: Sequence[str], folder: Path) -> list[Setting]:
    """Return a setting per version; make missing environments, and report versions without an interpreter."""
    settings = []
    for version in versions:
        start = interpreter(version)
        if start is None:
            print(f"Python {version} is skipped: no python{version} on the path or in pyenv", file=sys.stderr)
            continue
        home = folder.resolve() / f"python-{version}"
        python = home / "bin" / "python"
        ready, wanted = home / ".ready", installed(os.environ.get("PIP_CONSTRAINT"))
        if not ready.exists() or ready.read_text() != wanted:
            subprocess.run([start, "-m", "venv", "--clear", str(home)], check=True)
            pip = [str(python), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "-e", f"{ROOT}[cluster,tables]", *requirements(ROOT / "pyproject.toml")], check=True)
            ready.write_text(wanted)
        libraries = frozenset({"xla", "blas", "threads", "openmp"})
        settings.append(Setting(f"Python {version}", libraries, python=str(python)))
    return settings
