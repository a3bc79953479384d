"""SVG for web pages: real text, colours as CSS variables, ids unique on the page."""

import dataclasses
import io
import re
from html import escape

import matplotlib

from firstlight.plots import _frame
from firstlight.plots._draw import draw_figure
from firstlight.plots._theme import DARK, LIGHT, Theme
from firstlight.records.figure import FigureData

# Matplotlib needs colours, not CSS variables: draw in placeholder colours, then replace them by the variables.
_PLACEHOLDERS = {f"#0b0c{number:02x}": name for number, name in enumerate(LIGHT.variables(), start=16)}
_FONT = "var(--fl-font, system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif)"


def _placeholder_theme() -> Theme:
    ink, muted, grid, paper, *series = _PLACEHOLDERS
    return dataclasses.replace(LIGHT, ink=ink, muted=muted, grid=grid, paper=paper, series=tuple(series))


def _variables(theme: Theme) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in theme.variables().items())


# `:where` has no specificity, so any rule of the page wins over these.
_COLOURS = (
    f":where(.fl-figure){{{_variables(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{:where(.fl-figure){{{_variables(DARK)}}}}}"
)
SVG_RULES = f".fl-figure *{{stroke-linejoin:round;stroke-linecap:butt}}.fl-figure text{{font-family:{_FONT}}}"


def web_svg(data: FigureData, heading: bool, styled: bool, copy: int) -> str:
    """Return one `<svg>` element; the figure's digest and the copy number salt the ids."""
    theme = _placeholder_theme()
    settings = _frame.style(theme)
    settings.update({"svg.fonttype": "none", "svg.hashsalt": f"{data.digest}{copy}"})
    buffer = io.StringIO()
    with matplotlib.rc_context(settings):
        figure = draw_figure(data, theme, heading)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _for_the_web(buffer.getvalue(), data, styled, copy)


def _for_the_web(text: str, data: FigureData, styled: bool, copy: int) -> str:
    body = text[text.index("</metadata>") + len("</metadata>") : text.rindex("</svg>")]
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)[\")]", body))
    # Matplotlib escapes < and > in text and attributes, so this pattern matches only tags, never a user's text.
    body = re.sub(r"<[^>]*>", lambda tag: _web_tag(tag[0], used), body)
    # Characters that XML forbids would make the whole figure unreadable.
    body = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", body)
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt" viewBox="([^"]*)"', text)
    if size is None:
        raise RuntimeError("matplotlib wrote an SVG without width, height and viewBox")
    name = f"fl-{data.digest[:12]}-{copy}"
    style = f"<style>{_COLOURS}{SVG_RULES}</style>" if styled else ""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="fl-figure" role="img" aria-labelledby="{name}" width="{size[1]}pt" height="{size[2]}pt" '
        f'viewBox="{size[3]}">'
        f'<title id="{name}">{escape(_description(data))}</title>{style}{body.strip()}</svg>'
    )


def _web_tag(tag: str, used: set[str]) -> str:
    tag = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in used else "", tag)
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    tag = re.sub(r"(fill|stroke): (#[0-9a-f]{6})", _as_variable, tag)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"\d+\.\d{3,}", _rounded, path[0]), tag)


def _as_variable(match: re.Match[str]) -> str:
    name = _PLACEHOLDERS.get(match[2])
    return f"{match[1]}: var({name})" if name else match[0]


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}"


def _description(data: FigureData) -> str:
    # Browsers show this text as a tooltip, and screen readers read it aloud.
    words = data.title or " against ".join(axis.label for axis in (data.y, data.x) if axis) or data.kind
    return "".join(letter for letter in words if letter.isprintable())
