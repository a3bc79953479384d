"""Output to the terminal: streams, consoles, progress bars and live curves."""
