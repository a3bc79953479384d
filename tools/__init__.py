"""Commands for developing firstlight; nothing here is installed."""
