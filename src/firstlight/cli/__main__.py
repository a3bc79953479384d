"""`python -m firstlight.cli` is `firstlight`."""

from firstlight.cli._entry import command

command()
