"""Short text for numbers, without markup, the same in a terminal, on a page and in a figure."""

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MINUS = "−"


def short(value: float, digits: int = 3, plain: tuple[float, float] = (1e-3, 1e5)) -> str:
    """Format `value` to `digits` significant digits, with a power of ten outside the range `plain`.

    >>> short(0.25), short(-12345.0), short(3e-7), short(2.5e9), short(1e6), short(float("nan"))
    ('0.25', '−12300', '3×10⁻⁷', '2.5×10⁹', '10⁶', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else _MINUS + "∞"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(value):.{digits - 1}e}".partition("e")
    power = int(exponent)
    if plain[0] <= abs(float(f"{mantissa}e{power}")) <= plain[1]:
        rounded = float(f"{mantissa}e{power}")
        text = f"{rounded:.{max(digits - 1 - power, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        factor = mantissa.rstrip("0").rstrip(".")
        text = ("" if factor == "1" else factor + "×") + "10" + str(power).translate(_SUPERSCRIPTS)
    return (_MINUS if value < 0 else "") + text
