"""False data for the claims of CoGO."""

from tests.claims.falsehoods import Falsehood, put

FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "cogo.lemma-3": {
        "characters of another group": put("deviations/homomorphism", 1.0),
        "a character is missing": put("deviations/number of characters", float("inf")),
    },
}
