"""False data for the claims of Li₂."""

from tests.claims.falsehoods import Falsehood
from tests.claims.falsehoods.li2_figures import FIGURES
from tests.claims.falsehoods.li2_theory import THEORY

FALSEHOODS: dict[str, dict[str, Falsehood]] = {**THEORY, **FIGURES}
