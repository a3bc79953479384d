"""False data for the claims of manifold."""

from tests.claims.falsehoods import Falsehood

FALSEHOODS: dict[str, dict[str, Falsehood]] = {}
