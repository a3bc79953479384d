"""What every request must satisfy: a loopback host, a same-origin post with a token, a body of bounded size.

A server on loopback can be reached by any page in the user's browser, so being local is no protection. `Host` is
checked against DNS rebinding. Its port may differ from the server's, as it does behind an SSH tunnel.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HOSTS = ("127.0.0.1", "localhost", "[::1]")
LARGEST_BODY = 4_000_000
"""Bytes of a request's body; a Cayley table of order 500 needs about 1 MB."""

LONGEST_QUERY = 8_000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """An ASGI application around another: refuses what is not the user's own page, and adds the headers."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(with_headers, *refusal)
            return
        await self._app(scope, _Bounded(receive, with_headers), with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if _name_of(host) not in HOSTS:
            return 421, "The lab answers to 127.0.0.1 and localhost only. Open the address that it printed."
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            return (
                414,
                f"The address is too long; the lab reads at most {LONGEST_QUERY} characters after the question mark.",
            )
        if scope["method"] in ("GET", "HEAD"):
            # Another site may link to a page, but must not read answers or open streams.
            cross = headers.get("sec-fetch-site", "same-origin") in ("cross-site", "same-site")
            if cross and headers.get("sec-fetch-mode") not in ("navigate", None):
                return 403, "Requests from other sites are refused."
            return None
        if scope["method"] != "POST":
            return 405, "The lab answers GET and POST."
        if not _is_same_origin(headers.get("origin", ""), host):
            return 403, "A change must come from the lab's own page: the Origin is missing or another."
        if not secrets.compare_digest(headers.get("x-firstlight-token", "").encode(), self._token.encode()):
            return 403, "The token is missing or out of date: reload the page."
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "The body must be application/json."
        length = headers.get("content-length", "")
        if length and (not length.isdecimal() or int(length) > LARGEST_BODY):
            return 413, f"The body is too large; at most {LARGEST_BODY:,} bytes are read."
        return None


class TooLarge(Exception):
    """A body without a length turned out too large."""


class _Bounded:
    """Counts the bytes of a body that does not say its length."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._bytes = receive, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > LARGEST_BODY:
            raise TooLarge
        return message


def _name_of(host: str) -> str:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host
    return name if port.isdecimal() else ""


def _is_same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:  # such as half an IPv6 address
        return False
    return parts.scheme in ("http", "https") and parts.netloc == host


async def _refuse(send: Send, status: int, words: str) -> None:
    body = words.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
