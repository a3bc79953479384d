"""Cayley tables that users paste or upload: checked for the group laws, stored under their digest."""

import re
from pathlib import Path
from typing import Any

from firstlight import groups
from firstlight._files import write_atomically
from firstlight.lab._form import FormError

LARGEST_ORDER = 300
"""Elements of the largest table that the page accepts; `firstlight run` takes larger ones from a file."""


def keep_table(folder: Path, name: Any, text: Any) -> dict[str, Any]:
    """Check a table, write it into the folder of the lab and return its file name; a `FormError` says what is wrong.

    The file is named by the digest of the table, never by what the user typed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keep_table(Path(folder), "my group", "0 1\\n1 0")["order"]
    2
    """
    if not isinstance(text, str) or not text.strip():
        raise FormError({"table": "paste a table: row g, column h holds the number of the product gh, counted from 0"})
    lines = [line for line in text.splitlines() if line.split("#")[0].strip()]
    if len(lines) > LARGEST_ORDER:
        raise FormError({"table": f"the page accepts tables up to order {LARGEST_ORDER}; got {len(lines)} rows"})
    rows = [re.findall(r"[^\s,;]+", line.split("#")[0]) for line in lines]
    try:
        table = [[int(word) for word in row] for row in rows]
    except ValueError as error:
        raise FormError({"table": f"a table holds whole numbers only ({str(error)[:80]})"}) from None
    uneven = next((place for place, row in enumerate(table) if len(row) != len(table)), None)
    if uneven is not None:
        raise FormError(
            {"table": f"{len(table)} rows need {len(table)} numbers each; row {uneven} has {len(table[uneven])}"}
        )
    title = re.sub(r"[^\w ×^-]", "", str(name or ""))[:40].strip() or "my table"
    try:
        group = groups.from_table(table, title)
    except ValueError as error:
        raise FormError({"table": str(error)[:300]}) from None
    file = f"{group.digest[:24]}.csv"
    content = "\n".join(",".join(str(entry) for entry in row) for row in table) + "\n"
    write_atomically(folder / file, content.encode())
    return {"table": file, "group": title, "order": group.order}
