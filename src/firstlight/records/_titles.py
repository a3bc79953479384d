"""Titles of runs: one wording for lists, stories, figures and pages."""

from pathlib import PurePath

from firstlight.records._spec import ArraysTask, DeepModel, GroupTask, ParityTask, RunSpec


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
    if isinstance(spec.model, DeepModel):
        widths = ", ".join(map(str, spec.model.widths))
        return f"{task_title(spec.task)}, {len(spec.model.widths) + 1} layers, widths {widths}"
    return f"{task_title(spec.task)}, two layers, width {spec.model.width}"
