"""`firstlight sweep`: many runs at once."""


def sweep() -> int:
    """Placeholder."""
    return 0
