"""The first row of a run that reaches a level."""

import numpy as np

from firstlight.records._spec import LEARNED
from firstlight.records._table import Table


def first_row(table: Table, column: str, at_least: float = LEARNED) -> int | None:
    """Return the index of the first row where a column reaches a level; None if it never does or is absent.

    >>> first_row(Table([0, 10, 20], {"train_accuracy": [0.2, 0.99, 1.0]}), "train_accuracy")
    1
    """
    if column not in table:
        return None
    reached = np.flatnonzero(table[column] >= at_least)
    return int(reached[0]) if len(reached) else None
