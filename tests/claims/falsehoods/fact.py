"""False data for the claims of fact."""

from tests.claims.falsehoods import Falsehood

FALSEHOODS: dict[str, dict[str, Falsehood]] = {}
