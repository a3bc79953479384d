"""The command line. `main(["--help"])` shows what there is; exit codes are in `firstlight.cli._exits`."""

from firstlight.cli._entry import command, main

__all__ = ["command", "main"]
