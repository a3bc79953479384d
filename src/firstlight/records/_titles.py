"""Titles of runs: one wording for lists, stories, figures and pages."""

from pathlib import PurePath

from firstlight.records._models import DeepModel, EmbeddingModel, ModelSpec, TransformerModel
from firstlight.records._spec import ArraysTask, GroupTask, ParityTask, RunSpec


def task_title(task: GroupTask | ParityTask | ArraysTask) -> str:
    """Return the task in a few words.

    >>> task_title(GroupTask(group="Z23")), task_title(ParityTask(dimension=20, degree=3))
    ('Z23', 'parity of 3 among 20 signs')
    """
    if isinstance(task, GroupTask):
        return task.group
    if isinstance(task, ParityTask):
        return f"parity of {task.degree} among {task.dimension} signs"
    return PurePath(task.path).name


def run_title(spec: RunSpec) -> str:
    """Return the name of the spec, or its task and its model in a few words.

    >>> run_title(RunSpec()), run_title(RunSpec(name="my run"))
    ('Z71, two layers, width 2048', 'my run')
    """
    if spec.name:
        return spec.name
    return f"{task_title(spec.task)}, {model_title(spec.model)}"


def model_title(model: ModelSpec) -> str:
    """Return the model in a few words.

    >>> model_title(TransformerModel()), model_title(EmbeddingModel(combine="sum"))
    ('transformer of width 128, 4 heads, 512 hidden units', 'sum of embeddings of width 128, 512 hidden units')
    """
    if isinstance(model, DeepModel):
        return f"{len(model.widths) + 1} layers, widths {', '.join(map(str, model.widths))}"
    if isinstance(model, TransformerModel):
        units = f"{model.mlp} hidden units" if model.mlp else "no MLP"
        return f"transformer of width {model.width}, {model.heads} head{'s' * (model.heads > 1)}, {units}"
    if isinstance(model, EmbeddingModel):
        joined = "sum" if model.combine == "sum" else "concatenation"
        return f"{joined} of embeddings of width {model.embedding}, {model.width} hidden units"
    return f"two layers, width {model.width}"
