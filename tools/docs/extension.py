"""Sphinx extension: reference pages from the code, maths as MathML, claims with their evidence.

MathML is what browsers draw without a script; docutils converts it from LaTeX.
"""

import re
import zlib
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

from tools.docs import reference
from tools.docs.accessible import complete_pages
from tools.docs.maths import even_bars, known_commands
from tools.docs.verdicts import with_verdicts

log = logging.getLogger(__name__)

_POWER = re.compile(r"\^\{([^{}`|]+)\}")
_INDEX = re.compile(r"(?<=\w)_\{([^{}`|]+)\}")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$)", re.DOTALL)


def raised_and_lowered(text: str) -> str:
    """Write `2^{1/3}` and `r_{k,k}` of the generated pages as superscript and subscript, outside code and maths.

    >>> raised_and_lowered("c = 2^{1/3}, `2^{1/3}`, r_{kk}")
    'c = 2<sup>1/3</sup>, `2^{1/3}`, r<sub>kk</sub>'
    """
    parts = _CODE.split(text)
    for place in range(0, len(parts), 2):
        parts[place] = _INDEX.sub(r"<sub>\1</sub>", _POWER.sub(r"<sup>\1</sup>", parts[place]))
    return "".join(parts)


def _visit_math(self, node: nodes.math | nodes.math_block) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        markup = tex2mathml(known_commands(node.astext()), as_block=block)
    except Exception as error:
        log.warning("cannot typeset %r: %s", node.astext(), error, location=node)
        markup = f"<code>{node.astext()}</code>"
    markup = even_bars(re.sub(r"\n\s*", "", markup))
    self.body.append(
        f'<div class="math" tabindex="0">{markup}</div>' if block else f'<span class="math">{markup}</span>'
    )
    raise nodes.SkipNode


def _write_reference(app: Sphinx) -> None:
    reference.write(Path(app.srcdir) / "reference")


def _complete(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = with_verdicts(name, raised_and_lowered(source[0]))


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        complete_pages(Path(app.outdir))
        reference.write_claims(Path(app.outdir) / "evidence-pages")


def _version() -> int:
    """A number that changes with these tools, so that pages from an earlier build are written again."""
    return zlib.crc32(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Register the renderer of maths and the three steps that write pages."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math, None))
    app.connect("builder-inited", _write_reference)
    app.connect("source-read", _complete)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": _version()}
