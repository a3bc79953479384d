"""The printed loss of Li₂ (Section 3), and the weight decay that it needs."""

from firstlight import groups

LOSS = {"projection": "samples", "reduction": "sum", "factor": 0.5}
"""The printed loss: ½‖P₁⊥(Y − Ŷ)‖², a sum over samples, with the mean over samples removed."""


def printed_decay(decay: float, n: int) -> float:
    """Return the η of the printed loss that equals a weight decay of the released code.

    The released code takes the mean over n samples without ½. The gradient of the printed loss is n/2 times that, so
    that η = n·decay/2 has the same ratio to it. Adam and Muon depend on this ratio only, with the decay in the
    gradient.

    >>> round(printed_decay(0.0002, 2016), 4)
    0.2016
    """
    return decay * n / 2


def pairs(group: str, fraction: float) -> int:
    """Return the number of pairs in a fraction of a group's table.

    >>> pairs("Z71", 0.4)
    2016
    """
    return round(fraction * groups.parse(group).order ** 2)
