"""Write the verdicts on the claims into the pages: a table per theory, and links to the evidence of each claim."""

import re

from firstlight import claims

PLACE = "<!-- claims: {paper} -->"
_ROW = re.compile(r"^\| `([a-z0-9]+\.[a-z0-9-]+)` \|", re.MULTILINE)
_INDEX = """
<p>Every identifier leads to a page with its criteria, the measured numbers, figures and neighbours in the graph of what
rests on what; <a href="evidence-pages/index.html">all of them, with the blueprint</a>.</p>
"""


def linked(name: str) -> str:
    """Return a claim's identifier as a link to its page."""
    return f'<a href="evidence-pages/{name}.html"><code>{name}</code></a>'


def verdict_table(paper: str) -> str:
    """Return the claims of a paper with their recorded verdicts, one row each.

    >>> verdict_table("manifold").splitlines()[0]
    '| claim | what it says | quick | paper |'
    """
    rows = ["| claim | what it says | quick | paper |", "|---|---|---|---|"]
    for claim in claims.find([paper]):
        recorded = claims.recorded(claim.id)
        verdicts = [recorded[scale].status if scale in recorded else claims.NOT_RUN for scale in ("quick", "paper")]
        rows.append(f"| {linked(claim.id)} | {claim.title} | {verdicts[0]} | {verdicts[1]} |".replace("\n", " "))
    return "\n".join(rows) + "\n"


def with_verdicts(page: str, text: str) -> str:
    """Return the text of a page with its tables of verdicts filled in, and claims linked on the page of claims."""
    for paper in re.findall(PLACE.format(paper=r"(\w+)"), text):
        text = text.replace(PLACE.format(paper=paper), verdict_table(paper))
    if page == "claims":
        heading, _, rest = text.partition("\n\n")
        text = heading + "\n" + _INDEX + "\n" + _ROW.sub(lambda match: f"| {linked(match.group(1))} |", rest)
    return text
