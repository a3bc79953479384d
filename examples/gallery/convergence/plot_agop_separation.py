"""
Where two rules disagree
========================

Two formulas claim to say which features a network learns: FACT, and the average gradient outer product, AGOP.
Mostly they agree. On this data set, built by the authors of FACT, they part: the network's features follow FACT,
while AGOP points elsewhere.
"""

import numpy as np

from firstlight.records import figure
from firstlight.theories import fact

best = fact.minimise(fact.Separation.of(tau=0.02, p=1e-6, weight_decay=1e-8))
print(f"cosine with the features: FACT {best.fact_cosine:.4f}, AGOP {best.agop_cosine():.3f}")

# %%
# The features of the trained network, and what each rule says; all scaled to their largest entry.
maps = np.stack([matrix / np.abs(matrix).max() for matrix in (best.nfm, best.fact, best.agop)])
names = ["features W Wᵀ", f"FACT: cosine {best.fact_cosine:.2f}", f"AGOP: cosine {best.agop_cosine():.2f}"]
figure.grid(
    maps,
    labels=names,
    x="input",
    y="input",
    value="entry, scaled",
    columns=3,
    title="FACT follows the features, AGOP does not",
)
