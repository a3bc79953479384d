"""Pages of the web lab: the same templates and theme as a report, with scripts from the lab's server."""

import functools
from collections import Counter
from typing import Any

from firstlight.report._figure_table import figure_tables
from firstlight.report._page import _drawn, _templates


def render_room(template: str, **context: Any) -> str:
    """Return a page or a part of a page of the lab.

    **Arguments:**

    - `template`: the name of a template, such as `lab/grok.html`.
    - `context`: the values that the template names.

    >>> "<h1>Grok live" in render_room(
    ...     "lab/grok.html", rooms=(), here="/grok", token="t", fields=(), form={"table": ""}, groups=()
    ... )
    True
    """
    draw = functools.partial(_drawn, seen=Counter())
    return _templates().get_template(template).render(draw=draw, tables=figure_tables, **context)
