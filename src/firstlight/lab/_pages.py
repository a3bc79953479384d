"""The pages of the lab, rendered by `report` from its own templates."""

from dataclasses import dataclass
from typing import Any

from firstlight import report


@dataclass(frozen=True)
class Room:
    """A room in the navigation bar."""

    path: str
    title: str
    question: str


ROOMS = (
    Room("/grok", "Grok live", "Will this network generalise, and when?"),
    Room("/theatre", "Feature theatre", "What did the hidden units become?"),
    Room("/court", "Claims court", "Which statements of the papers hold?"),
)


def page(template: str, path: str, token: str, **context: Any) -> str:
    """Return a page of the lab; `path` marks the room in the navigation bar."""
    return report.render_room(template, rooms=ROOMS, here=path, token=token, **context)
