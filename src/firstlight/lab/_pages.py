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
    Room("/staircase", "Staircase", "When does the loss fall, and to what level?"),
    Room("/atlas", "Phase atlas", "Where does grokking begin?"),
    Room("/court", "Claims court", "Which statements of the papers hold?"),
    Room("/bench", "Bench", "What do learned features do for my own table or model?"),
)


def page(template: str, path: str, token: str, **context: Any) -> str:
    """Return a page of the lab; `path` marks the room in the navigation bar."""
    return report.render_room(template, rooms=ROOMS, here=path, token=token, **context)
