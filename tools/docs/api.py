"""Write one page per public package: every exported name with its signature and its docstring."""

import importlib
import inspect
import re
import typing
from types import ModuleType
from typing import Any

# Tiers: what most users need, what a paper says, what both are built from.
TIERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Every day": (
        "Train, sweep, fit, probe, draw. These names are meant to be stable.",
        ("runs", "sweeps", "records", "records.figure", "plots", "report", "rfm", "probes"),
    ),
    "Theories": (
        "What each paper predicts and what it sees in a run; `lemmas` holds its single statements.",
        (
            *(f"theories.{paper}" for paper in ("li2", "cogo", "agf", "fact", "manifold", "progress")),
            *(f"theories.{paper}.lemmas" for paper in ("li2", "cogo", "agf", "fact", "manifold")),
            "claims",
        ),
    ),
    "Building blocks": (
        "What the two tiers above are made of.",
        ("groups", "tasks", "models", "flow", "flow.population", "features"),
    ),
}


def api_pages() -> dict[str, str]:
    """Return file name → text: an index by tier, and one page per package."""
    lines = [
        "# Every public name",
        "",
        "Names are grouped by how likely you need them. A name without a page here is private.",
    ]
    pages = {}
    for tier, (words, packages) in TIERS.items():
        lines += ["", f"## {tier}", "", words, "", "| package | what it holds |", "|---|---|"]
        for package in packages:
            module = importlib.import_module(f"firstlight.{package}")
            pages[f"api-{package}.md"] = package_page(module)
            lines.append(f"| [`firstlight.{package}`](api-{package}.md) | {_first_line(module)} |")
        lines += ["", "```{toctree}", ":hidden:", ""] + [f"api-{package}" for package in packages] + ["```"]
    return {"api.md": "\n".join(lines) + "\n", **pages}


def package_page(module: ModuleType) -> str:
    """Return the page of one package."""
    sections = [
        f"# `{module.__name__}`",
        "",
        _markdown(inspect.getdoc(module) or ""),
        "",
        f"```{{py:module}} {module.__name__}",
        "```",
        "",
    ]
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            sections.append(_entry(module.__name__, name, value))
    return "\n".join(sections)


def _entry(home: str, name: str, value: Any) -> str:
    """Return one name as a directive of Sphinx's Python domain, with methods nested."""
    if inspect.isclass(value):
        body = [_documentation(value)]
        for method, function in vars(value).items():
            if method.startswith("_") or not (text := _own_doc(function)):
                continue
            kind = "property" if isinstance(function, property) else "method"
            plain = getattr(function, "__func__", function)
            signature = "" if kind == "property" else _signature(plain, method=True)
            body.append(_directive(f"py:{kind}", f"{method}{signature}", text, 4))
        return _directive("py:class", f"{home}.{name}{_signature(value)}", "\n\n".join(body), 5)
    if callable(value) and not isinstance(value, typing._GenericAlias | type(list[int])):  # pyright: ignore
        return _directive("py:function", f"{home}.{name}{_signature(value)}", _documentation(value), 5)
    return _directive("py:data", f"{home}.{name}", f"A constant: `{_short(value)}`", 5)


def _own_doc(function: Any) -> str:
    inner = getattr(function, "__func__", function)
    if isinstance(function, property):
        inner = function.fget
    text = inspect.getdoc(inner) if callable(inner) and not inspect.isclass(inner) else None
    return _markdown(text) if text else ""


def _documentation(value: Any) -> str:
    return _markdown(_from_numpydoc(inspect.getdoc(value) or ""))


def _from_numpydoc(text: str) -> str:
    """Return scikit-learn's sections (`Parameters`, `Attributes`, …) as bold words and bullets.

    >>> print(_from_numpydoc("Fit.\\n\\nParameters\\n----------\\nridge : float, default=1.0\\n    The ridge."))
    Fit.
    <BLANKLINE>
    **Parameters:**
    <BLANKLINE>
    - `ridge` (float, default=1.0): The ridge.
    """
    text = re.sub(r"^(\w[\w ]*)\n-{3,}\n", r"**\1:**\n\n", text, flags=re.MULTILINE)
    text = re.sub(r"^(\w+) : (.+)\n +", r"- `\1` (\2): ", text, flags=re.MULTILINE)
    return text


def _markdown(text: str) -> str:
    """Return a docstring as Markdown: doctests become fenced blocks, everything else stays."""
    lines, fenced = [], False
    for line in text.splitlines():
        starts = line.lstrip().startswith(">>>")
        if starts and not fenced:
            lines += ["", "```pycon"]
            fenced = True
        elif fenced and not line.strip():
            lines.append("```")
            fenced = False
        lines.append(re.sub(r"^(#+ )", r"\\\1", line) if not fenced else line)
    if fenced:
        lines.append("```")
    return "\n".join(lines)


def _directive(kind: str, signature: str, body: str, ticks: int) -> str:
    fence = "`" * ticks
    return f"{fence}{{{kind}}} {signature}\n\n{body}\n{fence}\n"


def _signature(value: Any, *, method: bool = False) -> str:
    """Return the arguments with short defaults and without annotations, which name private places."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return "()"
    if method and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    shown = []
    for parameter in parameters:
        default = parameter.default
        if default is not inspect.Parameter.empty:
            default = _Written(_short(default))
        shown.append(parameter.replace(annotation=inspect.Parameter.empty, default=default))
    return str(inspect.Signature(shown))


class _Written:
    """A default value whose repr is already text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return "…" if len(text) > 60 or " at 0x" in text or text.startswith("<") else text


def _first_line(module: ModuleType) -> str:
    return (inspect.getdoc(module) or "").partition("\n")[0].replace("|", "\\|")
