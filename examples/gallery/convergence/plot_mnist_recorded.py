"""
Features of MNIST, from recorded evidence
=========================================

Larger experiments are not repeated when this page is built. Their numbers and figures are recorded with the verdict
on each claim, and shown from there: how well FACT and its rivals describe each layer of networks that were trained
on MNIST and CIFAR-10.
"""

from firstlight import claims

evidence = claims.recorded("fact.figure-3")
for scale, record in evidence.items():
    print(f"{scale}: {record.status}, seeds {record.seeds}, {record.seconds:.0f} s on {record.machine['cores']} cores")

# %%
# What was required and what was measured.
record = evidence.get("reduced") or evidence["quick"]
for criterion in record.criteria[:6]:
    print(f"{criterion.clause}: {criterion.quantity} = {criterion.measured}, required {criterion.required}")

# %%
# The recorded figure; 1 is perfect agreement. The rivals of FACT fail most at the first layer.
claims.recorded_figures(record)[0]
