"""Start the server of `firstlight lab`, open the browser, and stop so that runs can go on later."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firstlight.lab._client import Client
from firstlight.lab._errors import LabError
from firstlight.lab._places import Places

PORT = 8765
"""The first port to try."""

_PORTS = 20


def serve(
    store: Path,
    *,
    folder: Path | None = None,
    port: int | None = None,
    browser: bool = True,
    keep_running: bool = False,
    say: Callable[[str], None] = print,
    idle_seconds: float = 30.0,
) -> None:
    """Serve the lab on 127.0.0.1 until Ctrl-C.

    **Arguments:**

    - `store`: the file of the store; it is created if it does not exist.
    - `folder`: the folder whose tables the bench offers.
    - `port`: the port; by default the first free one from 8765 on.
    - `browser`: whether to open a browser.
    - `keep_running`: leave runs going after the server has stopped.
    - `say`: called with each line for the user.
    - `idle_seconds`: seconds after which a recorder without server and jobs exits.
    """
    _require_extra()
    listener = _listen(port)
    asyncio.run(_serve(Places(store), folder, listener, browser, keep_running, say, idle_seconds))


async def _serve(
    places: Places,
    folder: Path | None,
    listener: socket.socket,
    browser: bool,
    keep_running: bool,
    say: Callable[[str], None],
    idle_seconds: float,
) -> None:
    import uvicorn

    from firstlight.lab._app import application
    from firstlight.lab._reading import Reading

    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    token = secrets.token_urlsafe(24)
    client = Client(places, {"url": url, "pid": os.getpid()}, idle_seconds)
    await client.connect()
    reading = Reading(places.store)
    config = uvicorn.Config(
        application(client, reading, token, folder),
        log_level="warning",
        server_header=False,
        access_log=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign]
    _stop_on_signals(server, client)
    say(f"The lab is open at {url}")
    say(_going_on(client))
    if browser:
        asyncio.get_running_loop().call_later(0.3, webbrowser.open, url)
    try:
        await server.serve(sockets=[listener])
    finally:
        reading.close()
        say("runs go on without the server" if keep_running else "stopping at a checkpoint …")
        await client.end(keep_running=keep_running)


def _going_on(client: Client) -> str:
    going = [job["title"] for job in client.jobs.values() if job["state"] in ("queued", "running", "paused")]
    adopted = (
        f" {len(going)} job{'s' * (len(going) != 1)} of an earlier server go{'es' * (len(going) == 1)} on: "
        f"{', '.join(going[:3])}{' …' * (len(going) > 3)}."
        if going
        else ""
    )
    return f"Ctrl-C stops it; runs can be resumed.{adopted}"


def _listen(port: int | None) -> socket.socket:
    """Return a socket that is bound to loopback, at the port or at the first free one."""
    for candidate in (port,) if port is not None else (*range(PORT, PORT + _PORTS), 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
            listener.listen(128)  # at once: two labs may bind one port, but only one may listen there
            return listener
        except (OSError, OverflowError) as error:
            listener.close()
            problem = error
    raise LabError(f"port {port} cannot be used ({problem}); choose another with --port, or leave the option out")


def _require_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn", "bokeh") if find_spec(name) is None]
    if missing:
        raise LabError(f"the lab needs {', '.join(missing)}; install them with: pip install 'firstlight[lab]'")


def _stop_on_signals(server: Any, client: Client) -> None:
    """Let Ctrl-C and SIGTERM end the streams of open tabs and then the server, and leave no signal for others."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit  # the second time at once
        server.should_exit = True
        client.leave()

    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows has no such handlers; there Ctrl-C raises KeyboardInterrupt.
        if signal.getsignal(number) != signal.SIG_IGN:
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, stop)
