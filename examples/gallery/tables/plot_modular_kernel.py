"""
A kernel machine that groks
===========================

No neural network, no gradient descent: a kernel machine with learned features on addition mod 31. For some twenty
rounds it gets no new sum right, while its features change slowly. Then it generalises within a few rounds, as
networks do.
"""

import numpy as np

from firstlight import rfm
from firstlight.records import figure
from firstlight.records.figure import Series

p, rng = 31, np.random.default_rng(0)
a, b = np.divmod(rng.permutation(p * p), p)
X, y = np.hstack([np.eye(p)[a], np.eye(p)[b]]), (a + b) % p
seen = int(0.75 * len(y))

# %%
rule, accuracy, metrics = rfm.Rule("fact_geometric", normalize=None), [], []
for machine, f in rfm.recursive_feature_machine(
    X[:seen], np.eye(p)[y[:seen]], rfm.Quadratic(), rule, iterations=30, ridge=1e-12
):
    accuracy.append(float((f(X[seen:]).argmax(1) == y[seen:]).mean()))
    metrics.append(machine.M)
reached = [i for i, share in enumerate(accuracy) if share > 0.9]
print("first round with nine of ten new sums right:", reached[0] if reached else "none")

# %%
# The metric between two numbers, its diagonal left out: entries depend on the difference of the numbers alone,
# which gives stripes. That is what the circles of a network look like to a kernel.
curve = figure.curves(
    [Series("new sums", np.arange(len(accuracy)), accuracy)], x="round", y="accuracy", title="Accuracy on new sums"
)
block = np.where(np.eye(p, dtype=bool), np.nan, metrics[-1][:p, :p])
maps = figure.heatmap(
    block / np.nanmax(np.abs(block)),
    x="number",
    y="number",
    value="entry, scaled",
    title="The learned metric",
)
figure.panels([curve, maps], columns=2, title="Recursive feature machine on addition mod 31")
