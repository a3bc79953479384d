"""False data for the claims of li2."""

from tests.claims.falsehoods import Falsehood

FALSEHOODS: dict[str, dict[str, Falsehood]] = {}
