"""False data for the claims of agf."""

from tests.claims.falsehoods import Falsehood

FALSEHOODS: dict[str, dict[str, Falsehood]] = {}
