"""
Attention learns principal components
=====================================

Linear attention sees pairs (x, y) in its context and must predict the next y. Trained from small weights it
discovers the directions of the inputs one at a time, the one with the largest variance first. The steps of its loss
can be computed before training.
"""

from firstlight.theories import agf

task = agf.InContext(agf.power_law_covariance(4), context=32)
theta = task.initial(5, alpha=1e-3)
steps = agf.predict(task.problem, theta, max_jumps=4)
print("levels:", steps.levels.round(3))

# %%
# Gradient flow on the exact population loss, beside the steps.
run = agf.follow(task.problem, theta, 1.2 * steps.flow_times[-1])
steps.figure_data(run)
