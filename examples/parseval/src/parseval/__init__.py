"""Claims of a paper, registered with firstlight."""

from pathlib import Path

from firstlight.claims import Pack, Paper

from parseval.statements import CLAIMS

HERE = Path(__file__).parent

PACK = Pack(
    Paper("parseval", "Title of the paper", "what it is about", evidence=HERE / "evidence"),
    CLAIMS,
    docs=HERE / "docs.md",
)
