"""Digest of a check's source: it changes when the code that decides a claim changes, not when its words do."""

import ast
import functools
import hashlib
import importlib.util
from pathlib import Path

from firstlight.claims._claim import Claim


def check_digest(claim: Claim) -> str:
    """Return the SHA-256 of the check's module and of what it imports from `claims`; '' for a check without a module.

    Docstrings, comments and formatting do not count. A pack's modules count as those of `claims` do.

    >>> from firstlight.claims import find
    >>> len(check_digest(find(["cogo.lemma-3"])[0]))
    64
    """
    if not claim.check_module:
        return ""
    home = claim.check_module.partition(".")[0]
    package = "firstlight.claims" if home == "firstlight" else home
    return _digest(claim.check_module, package)


@functools.cache
def _digest(module: str, package: str) -> str:
    sources = "\n".join(f"{name}\n{_read(name)[1]}" for name in sorted(_imports(module, package)))
    return hashlib.sha256(sources.encode()).hexdigest()


@functools.cache
def _imports(module: str, package: str) -> frozenset[str]:
    """Return a module and all modules of the package that it imports, directly or not."""
    modules, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            modules.add(name)
            waiting += [other for other in _read(name)[0] if other.startswith(f"{package}.")]
    return frozenset(modules)


@functools.cache
def _read(module: str) -> tuple[tuple[str, ...], str]:
    """Return the modules that a module imports, and its syntax tree as text, without docstrings."""
    tree, names = ast.parse(_source(module)), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, module)
            names += [source, *(f"{source}.{alias.name}" for alias in node.names)]
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tuple(name for name in dict.fromkeys(names) if _path(name) is not None), ast.dump(tree)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """Return the module that a `from` import names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    path = _path(module)
    parts = module.split(".")
    package = parts if path is not None and path.name == "__init__.py" else parts[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def _source(module: str) -> str:
    path = _path(module)
    return path.read_text(encoding="utf-8") if path is not None else ""


@functools.cache
def _path(module: str) -> Path | None:
    """Return the file of a module, found without importing it; None if it is no module."""
    top, _, rest = module.partition(".")
    spec = importlib.util.find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        return None
    base = Path(spec.submodule_search_locations[0], *filter(None, rest.split(".")))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
