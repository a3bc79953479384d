"""Text of bounded length for messages."""


def shorten(text: str, limit: int = 200) -> str:
    """Cut the middle out of a text longer than `limit` characters, and print the number of characters left out.

    >>> shorten("a" * 30 + "b" * 30, 40)
    'aaaaaaaaaaaaa…(35 left out)…bbbbbbbbbbbb'
    >>> shorten("short")
    'short'
    """
    if len(text) <= limit:
        return text
    room = max(limit - len(f"…({len(text)} left out)…"), 2)
    head, tail = room - room // 2, room // 2
    return f"{text[:head]}…({len(text) - room} left out)…{text[-tail:]}"
