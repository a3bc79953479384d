"""Execute the notebooks of the gallery, as a reader who downloads them would."""

import os
import sys
import tempfile
import time
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "gallery"


def execute_all(folder: Path = NOTEBOOKS, seconds: int = 300) -> int:
    """Run every notebook below a folder in a kernel of its own; return 1 if one fails or there is none."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    failed = 0
    paths = sorted(folder.rglob("*.ipynb"))
    if not paths:
        print(f"no notebooks in {folder}: run make docs first", file=sys.stderr)
        return 1
    for number, path in enumerate(paths, start=1):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            client = NotebookClient(
                nbformat.read(path, as_version=4), timeout=seconds, kernel_name="python3", cwd=place
            )
            manager = client.create_kernel_manager()
            manager.transport = "ipc" if os.name == "posix" else "tcp"  # no port, to which other users could listen
            try:
                client.execute()
                state = "ran"
            except CellExecutionError as error:
                state, failed = f"failed: {error}", failed + 1
        print(f"{number}/{len(paths)} {path.name}: {state}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(paths) - failed} of {len(paths)} notebooks ran")
    return 1 if failed else 0
