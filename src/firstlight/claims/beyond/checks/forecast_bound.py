"""The best that any forecast can reach if it does not know the seed, from pairs of seeds of one setting."""

from collections.abc import Callable, Sequence
from math import erf, log, sqrt
from typing import Any

import numpy as np

DRAWS = 2000
"""Number of bootstrap samples behind a standard error."""


def pairs_of(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the rows of both seeds of every setting: places 2k and 2k + 1 of the judged list.

    >>> [(a["place"], b["place"]) for a, b in pairs_of([{"place": 4}, {"place": 5}, {"place": 7}])]
    [(4, 5)]
    """
    by_place = {row["place"]: row for row in rows}
    return [(row, by_place[place + 1]) for place, row in by_place.items() if place % 2 == 0 and place + 1 in by_place]


def best_share(log_ratios: Sequence[float], factor: float) -> float:
    """Return the best possible share of times within a factor, for log-normal times of one setting.

    With r = ln(T/T′) of two seeds, the variance within a setting is s² = E r²/2. The best forecast names the centre,
    and P(|ln T − centre| ≤ ln factor) = erf(ln factor / (s√2)).

    >>> round(best_share([0.4 * 2**0.5, -0.4 * 2**0.5], 1.5), 3)
    0.689
    """
    s = sqrt(float(np.mean(np.square(log_ratios))) / 2) if len(log_ratios) else float("nan")
    return float("nan") if not s > 0 else erf(log(factor) / (s * sqrt(2)))


def share_bracket(log_ratios: Sequence[float], factor: float) -> tuple[float, float]:
    """Return bounds of the best possible share that assume no distribution.

    The share of pairs within the factor is a mean over centres, so the best centre has at least that. Both times lie
    within the factor of one centre with probability Q², and then within its square of each other, so that
    Q² ≤ P(|ln T/T′| ≤ 2 ln factor).

    >>> share_bracket([0.0, 0.5, 2.0, 0.1], 1.5)
    (0.5, 0.8660254037844386)
    """
    away = np.abs(np.asarray(log_ratios, float))
    return float(np.mean(away <= log(factor))), sqrt(float(np.mean(away <= 2 * log(factor))))


def best_skill(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return the best possible Brier skill, from how often two seeds of a setting disagree.

    A forecast that knows the true chance p of every setting has the Brier score E p(1 − p), half the probability that
    two seeds disagree; always saying the base rate q has q(1 − q).

    >>> best_skill([(True, True), (False, False), (True, False), (False, True)])
    0.0
    """
    y = np.array(pairs, float).reshape(-1, 2)
    base = y.mean() if len(y) else 0.0
    return float("nan") if base in (0, 1) else 1 - 0.5 * float(np.mean(y[:, 0] != y[:, 1])) / float(base * (1 - base))


def bootstrap_error(quantity: Callable[[Sequence[Any]], float], items: Sequence[Any], seed: int = 0) -> float:
    """Return the standard error of a quantity over items, by drawing them again with replacement.

    >>> 0.05 < bootstrap_error(lambda x: float(np.mean(x)), list(np.random.default_rng(0).normal(size=100))) < 0.2
    True
    """
    rng = np.random.default_rng(seed)
    draws = [quantity([items[i] for i in rng.integers(len(items), size=len(items))]) for _ in range(DRAWS)]
    return float(np.nanstd(draws))
