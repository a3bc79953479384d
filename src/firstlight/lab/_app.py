"""The web application: pages, answers, one stream of events per tab. It reads the store and never imports JAX."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from firstlight.lab import _atlas as atlas
from firstlight.lab import _bench as bench
from firstlight.lab import _court as court
from firstlight.lab import _grok as grok
from firstlight.lab import _staircase as staircase
from firstlight.lab import _theatre as theatre
from firstlight.lab._client import Client
from firstlight.lab._curves import Curves
from firstlight.lab._errors import LabError
from firstlight.lab._folder import Folder
from firstlight.lab._form import FormError
from firstlight.lab._live import News
from firstlight.lab._reading import Reading
from firstlight.lab._security import Guard, TooLarge
from firstlight.lab._state import Lab
from firstlight.lab._static import static
from firstlight.records import StoreError

ROOMS = (grok, theatre, staircase, atlas, court, bench)


def application(client: Client, reading: Reading, token: str, folder: Path | None = None) -> Any:
    """Return the ASGI application, guarded; `folder` is the one whose tables the bench offers."""
    app = Starlette(
        routes=[
            Route("/", lambda request: RedirectResponse("/grok", 307)),
            Route("/token", lambda request: PlainTextResponse(token)),
            Route("/static/{name:path}", static),
            *(Route(path, _safe(call), methods=["GET"]) for room in ROOMS for path, call in room.PAGES.items()),
            *(Route(path, _safe(call), methods=["POST"]) for room in ROOMS for path, call in room.CHANGES.items()),
        ],
        exception_handlers={HTTPException: _said, 404: _said},
    )
    app.state.lab = Lab(
        client, reading, News(client), token, Curves(reading), None if folder is None else Folder(folder)
    )
    return Guard(app, token)


def _safe(call: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Turn the errors of users into clear answers."""

    async def answer(request: Request) -> Response:
        try:
            return await call(request)
        except FormError as error:
            return JSONResponse({"problems": error.problems}, 422)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            return JSONResponse({"error": "The body is no JSON object."}, 400)
        except TooLarge:
            return JSONResponse({"error": "The body is too large."}, 413)
        except StoreError as error:
            return JSONResponse({"error": str(error)}, 404)
        except LabError as error:
            return JSONResponse({"error": str(error)}, 409)
        except (ClientDisconnect, asyncio.CancelledError):
            with contextlib.suppress(RuntimeError):
                return Response(status_code=499)
            raise

    return answer


async def _said(request: Request, error: Any) -> Response:
    return PlainTextResponse(
        str(getattr(error, "detail", "") or "There is no such page."), getattr(error, "status_code", 404)
    )
