"""False data for the claims of cross."""

from tests.claims.falsehoods import Falsehood

FALSEHOODS: dict[str, dict[str, Falsehood]] = {}
