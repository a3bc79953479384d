"""
A network draws circles
=======================

After training on addition mod 23, look at the weights from the 23 numbers into the hidden layer. Seen along the
right two directions, the numbers stand on a circle, evenly spaced: the network adds numbers by turning a wheel.
Each panel is one frequency; the colour is the number.
"""

from firstlight import flow, groups, models, tasks
from firstlight.theories import progress

split = tasks.group_task("Z23").split(fraction=0.7)
run = flow.train(
    lambda key: models.TwoLayer.for_task(split.task, key, width=128),
    split,
    optimizer=flow.Optimizer(learning_rate=5e-3, weight_decay=1e-3),
    steps=300,
    progress="off",
)
model = run.models[0]
print("accuracy on held-out sums:", run.frame["test_accuracy"].iloc[-1].round(3))

# %%
# The strongest frequencies, as circles. Frequency k walks around the circle k times while the number runs from 0 to
# 22.
progress.circles_figure(model, groups.parse("Z23"))
