"""`python -m firstlight.cli` is `firstlight`."""

from firstlight.cli.entry import command

command()
