"""`firstlight lab`: the web lab on this machine."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import StoreOption, store_path


def lab(
    *,
    store: StoreOption = None,
    folder: Annotated[Path | None, Parameter(help="The folder whose tables the bench offers.")] = None,
    port: Annotated[int | None, Parameter(help="The port [default: the first free one from 8765 on].")] = None,
    browser: Annotated[bool, Parameter(help="Open a browser.")] = True,
    keep_running: Annotated[bool, Parameter(negative="", help="Leave runs going when the server stops.")] = False,
) -> int:
    """Watch a network grok in the browser, beside what the theories said it would do."""
    from firstlight import lab as rooms

    if folder is not None and not folder.is_dir():
        raise exits.UserError(f"--folder: {folder} is no folder")
    if port is not None and not 0 < port < 65536:
        raise exits.UserError(f"--port: must lie between 1 and 65535; got {port}")
    where = store_path(store)
    signals.resumes(lambda: "the lab has stopped; `firstlight lab` opens it again, and runs can be resumed there")
    rooms.serve(where.absolute(), folder=folder, port=port, browser=browser, keep_running=keep_running, say=screen.say)
    return exits.OK
