"""The uncertainty of a share of seeds."""

import math

_Z = 1.959964
"""Standard normal quantile of a 95 % interval."""


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    >>> [round(end, 3) for end in wilson(3, 3)]
    [0.439, 1.0]
    """
    share, z2 = successes / count, _Z**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    reach = _Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
