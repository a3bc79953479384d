"""How networks learn: training, gradient flow and exact population losses.

>>> import functools
>>> from firstlight import flow, models, tasks
>>> task = tasks.group_task("Z7")
>>> make = functools.partial(models.TwoLayer.for_task, task, width=64)
>>> run = flow.train(make, task.split(fraction=0.9), steps=30)
>>> run.status
'finished'
"""

from firstlight.flow._checkpoint import CheckpointError, checkpoint_step
from firstlight.flow._dense import outputs, value_and_grad
from firstlight.flow._gradient_flow import Flow, FlowOptions, gradient_flow
from firstlight.flow._lanes import Lane
from firstlight.flow._lens import Lens
from firstlight.flow._objective import accuracy, objective, projected, target_matrix
from firstlight.flow._observe import Context, Observable, TaskFacts, norms, standard
from firstlight.flow._optimizer import is_coupled, schedule
from firstlight.flow._progress import Progress
from firstlight.flow._train import TrainingInterrupted, train, train_lanes
from firstlight.flow._trajectory import LaneResult, Trajectory
from firstlight.flow.population import (
    feature_gram,
    feature_target,
    population_is_cheaper,
    population_loss,
    population_value_and_grad,
)
from firstlight.records import Loss, Optimizer, Recording, Schedule, Stop

__all__ = [
    "CheckpointError",
    "Context",
    "Flow",
    "FlowOptions",
    "Lane",
    "LaneResult",
    "Lens",
    "Loss",
    "Observable",
    "Optimizer",
    "Progress",
    "Recording",
    "Schedule",
    "Stop",
    "TaskFacts",
    "TrainingInterrupted",
    "Trajectory",
    "accuracy",
    "checkpoint_step",
    "feature_gram",
    "feature_target",
    "gradient_flow",
    "is_coupled",
    "norms",
    "objective",
    "outputs",
    "population_is_cheaper",
    "population_loss",
    "population_value_and_grad",
    "projected",
    "schedule",
    "standard",
    "target_matrix",
    "train",
    "train_lanes",
    "value_and_grad",
]
