"""The command line. `main(["--help"])` shows what there is; exit codes are in `firstlight.cli.exits`."""

from firstlight.cli.entry import main

__all__ = ["main"]
