"""Groups from their names."""

import re
from collections.abc import Callable
from functools import lru_cache

from firstlight.groups._constructors import (
    alternating,
    cyclic,
    dicyclic,
    dihedral,
    frobenius,
    is_prime,
    product,
    quaternion,
    sl2,
    symmetric,
)
from firstlight.groups._group import Group
from firstlight.groups._laws import MAX_ORDER, check_order
from firstlight.records.suggestion import closest

_ATOM = re.compile(r"(Z|C|S|A|D|Q|Dic|F|SL2)_?\(?(\d{1,9})\)?(?:\^(\d{1,9}))?", re.IGNORECASE)
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
    """The group called `name`: Z5 (or C5), S4, A5, D7 of order 14, Dic3 of order 12, Q8, F21, SL2(3).

    Products are written Z5xZ6 or Z5×Z6, powers Z2^3.

    >>> parse("Z2^2 x S3").order
    24
    >>> parse("Dik3")
    Traceback (most recent call last):
    ...
    ValueError: unknown group 'Dik3'; did you mean 'Dic3'? Known names: Z5 (cyclic), S4, A5, ...
    """
    factors: list[Group] = []
    for part in re.split(r"[x×*⊗]", name.replace("SL(2,", "SL2("), flags=re.IGNORECASE):
        match = _ATOM.fullmatch(part.replace(" ", ""))
        if match is None:
            raise ValueError(_unknown(part.strip(), name))
        family, number, power = match.groups()
        atom = _FAMILIES[family.lower()](int(number))
        times = 1 if power is None else int(power)
        if times < 1:
            raise ValueError(f"the power in {part.strip()!r} must be at least 1")
        check_order(atom.order ** min(times, MAX_ORDER), name)
        factors += [atom] * min(times, MAX_ORDER)
    return product(*factors)


def _quaternion(order: int) -> Group:
    if order % 4 or order < 8:
        raise ValueError(f"Q{order}: generalised quaternion groups have order 4n with n ≥ 2, such as Q8 or Q16")
    return quaternion() if order == 8 else dicyclic(order // 4)


def _frobenius(order: int) -> Group:
    check_order(order, f"F{order}")
    for p in range(order // 2, 2, -1):
        if order % p == 0 and is_prime(p) and (p - 1) % (order // p) == 0:
            return frobenius(p, order // p)
    raise ValueError(f"F{order}: the order must be p·q with p prime and q ≥ 2 dividing p − 1, such as F20 or F21")


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
