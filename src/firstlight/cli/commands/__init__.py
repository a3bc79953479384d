"""One module per command of `firstlight`."""
