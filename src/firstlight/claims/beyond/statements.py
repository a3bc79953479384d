"""Statements beyond the papers: each says what is proved, what is measured, and what would refute it."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="beyond.non-abelian-boundaries",
        title="Boundaries of non-Abelian groups",
        locator="beyond Li₂, Figure 8",
        statement=(
            "Networks generalise on dihedral groups with the share of the pairs that cyclic groups of the same order "
            "need. Groups with irreps of dimension 3 or more, or with quaternionic irreps (S4, SL(2,3), Dic10, A5), "
            "need a larger share. No group needs d² times the pairs of a cyclic group, d its largest dimension."
        ),
        proved="Nothing; the boundaries of trained networks are measured.",
        refuted_by=(
            "A dihedral group that needs over 1.2 times the pairs of a cyclic group, one of the named groups that "
            "needs no more, or a group that needs d² times as many."
        ),
        uses=("li2.figure-4", "li2.figure-8", "li2.theorem-4"),
        check="boundaries:non_abelian_groups",
    ),
)
