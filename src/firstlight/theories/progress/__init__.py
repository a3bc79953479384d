"""Progress measures of grokking, for any finite group (Nanda et al. 2023; Chughtai, Chan and Nanda 2023).

A network that has generalised computes the product through a few irreps ρ: its logits are near Σ_ρ α_ρ χ_ρ(abc⁻¹).
The measures follow this circuit while it grows, long before the test accuracy moves.

>>> import jax
>>> from firstlight import models, tasks
>>> from firstlight.theories import progress
>>> split = tasks.group_task("Z7").split(fraction=0.6)
>>> now = progress.measure(models.Transformer.for_task(split.task, jax.random.key(0), width=16), split)
>>> now.keys, 0 <= now.formula_fit <= 1
((), True)
"""

from firstlight.theories.progress._circles import circles_figure
from firstlight.theories.progress._lens import LENSES
from firstlight.theories.progress._measure import ProgressMeasures, logit_table, measure

__all__ = ["LENSES", "ProgressMeasures", "circles_figure", "logit_table", "measure"]
