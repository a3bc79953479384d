"""What the handlers of requests share."""

import json
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from firstlight.lab._client import Client
from firstlight.lab._curves import Curves
from firstlight.lab._folder import Folder
from firstlight.lab._live import News
from firstlight.lab._reading import Reading


@dataclass(frozen=True)
class Lab:
    """The recorder's client, the store's reader, news for streams, the token, drawn curves, the folder of tables."""

    client: Client
    reading: Reading
    news: News
    token: str
    curves: Curves
    folder: Folder | None = None


def lab_of(request: Request) -> Lab:
    """Return what the handlers of a request share."""
    return request.app.state.lab


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request; anything else raises `JSONDecodeError`."""
    text = await request.body()
    try:
        values = json.loads(text)
    except ValueError as error:  # also a whole number of thousands of digits
        raise json.JSONDecodeError(str(error), "", 0) from None
    if not isinstance(values, dict):
        raise json.JSONDecodeError("an object was expected", "", 0)
    return values
