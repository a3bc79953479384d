"""False data for Li₂'s figures."""

from tests.claims.falsehoods import Falsehood

FIGURES: dict[str, dict[str, Falsehood]] = {}
