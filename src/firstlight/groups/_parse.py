"""Groups from their names."""

import math
import re
from collections.abc import Callable
from functools import lru_cache

from firstlight._suggest import closest
from firstlight.groups._constructors import (
    alternating,
    cyclic,
    dicyclic,
    dihedral,
    frobenius,
    product,
    quaternion,
    sl2,
    symmetric,
)
from firstlight.groups._group import Group
from firstlight.groups._laws import MAX_ORDER, check_order
from firstlight.groups._orders import ORDERS, frobenius_factors, quaternion_order

_ATOM = re.compile(r"(Z|C|S|A|D|Q|Dic|F|SL2)_?\(?(\d{1,9})\)?(?:\^(\d{1,9}))?", re.IGNORECASE)
_LONGEST = 200
_FACTORS = 32
_KNOWN = "Z5 (cyclic), S4, A5, D7 (order 14), Dic3 (order 12), Q8, F21, SL2(3), powers Z2^3 and products Z5xZ6"
_ALIASES = {
    "cyclic": "Z",
    "integers": "Z",
    "sym": "S",
    "symmetric": "S",
    "alt": "A",
    "alternating": "A",
    "dih": "D",
    "dihedral": "D",
    "dicyclic": "Dic",
    "quaternion": "Q",
    "frobenius": "F",
    "frob": "F",
    "sl": "SL2",
}


@lru_cache(maxsize=64)
def parse(name: str) -> Group:
    """Return the group called `name`: Z5 (or C5), S4, A5, D7 of order 14, Dic3 of order 12, Q8, F21, SL2(3).

    Products are written Z5xZ6 or Z5×Z6, powers Z2^3.

    >>> parse("Z2^2 x S3").order
    24
    >>> parse("Dik3")
    Traceback (most recent call last):
    ...
    ValueError: unknown group 'Dik3'; did you mean 'Dic3'? Known names: Z5 (cyclic), S4, A5, ...
    """
    factors: list[Group] = []
    for family, number, times in _atoms(name):
        factors += [_FAMILIES[family](number)] * times
    return product(*factors)


def order_of(name: str) -> int:
    """Return the order of the group called `name` without building its table; raise as `parse` does.

    >>> order_of("Z5000"), order_of("Z2^2 x S3")
    (5000, 24)
    """
    return math.prod(ORDERS[family](number) ** times for family, number, times in _atoms(name))


def _atoms(name: str) -> list[tuple[str, int, int]]:
    """Return family, parameter and power of each factor, after checking that the product is not too large."""
    if len(name) > _LONGEST:
        raise ValueError(f"a group's name has at most {_LONGEST} characters, got {len(name)}: {name[:20]!r}…")
    atoms, order = [], 1
    for part in re.split(r"[x×*⊗]", name.replace("SL(2,", "SL2("), flags=re.IGNORECASE):
        match = _ATOM.fullmatch(part.replace(" ", ""))
        if match is None:
            raise ValueError(_unknown(part.strip(), name))
        family, number, power = match[1].lower(), int(match[2]), 1 if match[3] is None else int(match[3])
        if power < 1:
            raise ValueError(f"the power in {part.strip()!r} must be at least 1")
        times = min(power, MAX_ORDER)
        order *= check_order(ORDERS[family](number) ** times, name)
        check_order(order, name)
        atoms.append((family, number, times))
    if sum(times for *_, times in atoms) > _FACTORS:
        raise ValueError(f"{name!r} has more than {_FACTORS} factors; leave out those of order 1")
    return atoms


def _quaternion(order: int) -> Group:
    return quaternion() if quaternion_order(order) == 8 else dicyclic(order // 4)


def _frobenius(order: int) -> Group:
    return frobenius(*frobenius_factors(order))


_FAMILIES: dict[str, Callable[[int], Group]] = {
    "z": cyclic,
    "c": cyclic,
    "s": symmetric,
    "a": alternating,
    "d": dihedral,
    "q": _quaternion,
    "dic": dicyclic,
    "f": _frobenius,
    "sl2": sl2,
}


def _unknown(part: str, name: str) -> str:
    letters = re.sub(r"[^a-z]", "", part.lower())
    digits = "".join(re.findall(r"\d+", part)[-1:])
    written = [_written(family, digits) for family in ("Z", "S", "A", "D", "Dic", "Q", "F", "SL2")]
    close = closest(letters, _ALIASES, cutoff=0.7)
    guess = _written(_ALIASES[close], digits) if close else closest(part, written)
    hint = f"did you mean {guess!r}? " if guess not in ("", part) else ""
    where = f" in {name!r}" if part != name else ""
    return f"unknown group {part!r}{where}; {hint}Known names: {_KNOWN}"


def _written(family: str, digits: str) -> str:
    digits = digits or {"Q": "8", "F": "21", "SL2": "3"}.get(family, "5")
    return f"SL2({digits})" if family == "SL2" else family + digits
