"""The command line. `main(["--help"])` shows what there is; exit codes are in `firstlight.cli.exits`."""

from firstlight.cli.entry import command, main

__all__ = ["command", "main"]
