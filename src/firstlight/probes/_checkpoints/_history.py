"""The course of every layer over the checkpoints: tables, heat maps, a record. Needs no torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from firstlight.probes._checkpoints._find import UNDATED
from firstlight.probes._checkpoints._story import story
from firstlight.probes._result import SHOWN, LayerReport, ProbeResult
from firstlight.records import FigureData, LayerCourse, ProbedCheckpoint, ProbeRecord, UpdateCourse, figure

if TYPE_CHECKING:
    from firstlight.probes._checkpoints._lora import Update


@dataclass(frozen=True, eq=False)
class Moment:
    """One checkpoint and what a probe found in it.

    **Attributes:**

    - `name`: name of the file or folder.
    - `step`: when it was saved.
    - `clock`: what `step` counts: "step", "epoch" or, in a list without steps, "position".
    - `digest`: SHA-256 of the weights.
    - `same_as`: name of an earlier checkpoint with the same weights, or "".
    - `result`: the probe's result.
    - `since_previous`: ‖W − W'‖/‖W'‖ by parameter name, with W' of the checkpoint before.
    - `updates`: what LoRA adapters add to their frozen weights.
    """

    name: str
    step: int
    clock: str
    digest: str
    same_as: str
    result: ProbeResult
    since_previous: dict[str, float]
    updates: tuple["Update", ...] = ()


@dataclass(frozen=True, eq=False)
class CheckpointHistory:
    """The probes of a series of checkpoints in training order.

    **Attributes:**

    - `moments`: the checkpoints with their results.
    - `left_out`: checkpoints that could not be read or placed, each with the reason.
    - `untreated`: parameters without a result, each with the reason.
    """

    moments: tuple[Moment, ...]
    left_out: dict[str, str]
    untreated: dict[str, str]

    @property
    def steps(self) -> tuple[int, ...]:
        """The step of every checkpoint."""
        return tuple(moment.step for moment in self.moments)

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of all layers, in the order of the model."""
        return tuple(dict.fromkeys(layer.name for moment in self.moments for layer in moment.result.layers))

    @property
    def damaged(self) -> bool:
        """Whether a file could not be read, or two checkpoints of different steps are equal."""
        by_name = {moment.name: moment for moment in self.moments}
        unequal = any(by_name[name].step != by_name[earlier].step for name, earlier in self.duplicates.items())
        return unequal or any(reason != UNDATED for reason in self.left_out.values())

    @property
    def duplicates(self) -> dict[str, str]:
        """Checkpoint → an earlier checkpoint with exactly the same weights."""
        return {moment.name: moment.same_as for moment in self.moments if moment.same_as}

    def table(self) -> pd.DataFrame:
        """Return one row per checkpoint and layer: alignments, effective rank, distances moved, verdict, evidence."""
        rows = [
            {
                "step": moment.step,
                "checkpoint": moment.name,
                "layer": layer.name,
                **{measure: layer.alignments.get(measure, math.nan) for measure in SHOWN},
                "± FACT": layer.errors.get("FACT", math.nan),
                "FACT averaged": layer.averaged,
                "size": layer.size,
                "effective rank": layer.effective_rank,
                "leading share": layer.spectrum[0] if layer.spectrum else math.nan,
                "moved": layer.moved,
                "since previous": self._since_previous(moment, layer),
                "verdict": layer.verdict.state,
                "evidence": layer.verdict.evidence,
            }
            for moment in self.moments
            for layer in moment.result.layers
        ]
        return pd.DataFrame(rows)

    def story(self) -> tuple[str, ...]:
        """Return what happened, in sentences."""
        return story(self)

    def figures(self) -> tuple[FigureData, ...]:
        """Return heat maps of layers × checkpoints: FACT, √AGOP, effective rank and distance moved.

        FACT is averaged along four checkpoints where the learning rate is known.
        """
        fact = self._matrix(
            lambda layer: layer.averaged if math.isfinite(layer.averaged) else layer.alignments.get("FACT", math.nan)
        )
        agop = self._matrix(lambda layer: layer.alignments.get("√AGOP", math.nan))
        whole = self._matrix(lambda layer: min(layer.inputs, layer.outputs))
        rank = self._matrix(lambda layer: layer.effective_rank) / whole
        moved = self._matrix(lambda layer: layer.moved)
        averaged = np.isfinite(self._matrix(lambda layer: layer.averaged))
        caption = "Alignment of FACT with the feature matrix; 1 is convergence. Empty cells are undefined."
        if averaged.any():
            since = self.moments[int(averaged.any(axis=0).argmax())].step
            caption += f" From {self.moments[-1].clock} {since} on it is averaged along four checkpoints."
        looks = "Alignment of the feature matrix with the root of the outputs' average gradient outer product."
        uses = "Effective rank of the weights relative to their largest possible rank."
        maps = (
            (fact, "FACT", "Is each layer in balance with its loss and weight decay?", caption, True),
            (agop, "√AGOP", "Does each layer look where the outputs change?", looks, True),
            (rank, "share of ranks", "How many directions does each layer use?", uses, False),
            (moved, "distance / size", "How far has each layer moved?", "Relative to the first weights.", False),
        )
        return tuple(
            self._map(matrix, value, title, text, bounded)
            for matrix, value, title, text, bounded in maps
            if np.isfinite(matrix).any()
        )

    def _map(self, matrix: np.ndarray, value: str, title: str, caption: str, bounded: bool) -> FigureData:
        shown = np.where(np.isfinite(matrix), matrix, np.nan)
        return figure.heatmap(
            np.clip(shown, -1, 1) if bounded else shown,
            x=self.moments[-1].clock,
            y="layer",
            value=value,
            title=title,
            caption=caption,
            rows=list(self.layers),
            columns=[str(moment.step) for moment in self.moments],
            limits=(min(0.0, float(np.nanmin(shown))), 1.0) if bounded else None,
        )

    def record(self, name: str = "") -> ProbeRecord:
        """Return the history as plain data, for a store and for `report.write(path, [history.record()])`.

        **Arguments:**

        - `name`: a name for the model, used as title.
        """
        last = self.moments[-1].result.record(name)
        return last.model_copy(
            update={
                "checkpoints": tuple(
                    ProbedCheckpoint(name=m.name, step=m.step, clock=m.clock, digest=m.digest, same_as=m.same_as)
                    for m in self.moments
                ),
                "courses": tuple(self._course(name) for name in self.layers),
                "updates": self._update_courses(),
                "story": self.story(),
                "left_out": dict(self.left_out),
                "figures": self.figures() or last.figures,
            }
        )

    def __str__(self) -> str:
        """Return the story, one sentence per line, and the last probe's table."""
        return "\n".join([*self.story(), "", f"At {self.moments[-1].name}:", str(self.moments[-1].result)])

    def _course(self, name: str) -> LayerCourse:
        reports = [self._report(moment, name) for moment in self.moments]
        shown = next(report for report in reports if report is not None)
        return LayerCourse(
            name=name,
            kind=shown.kind,
            inputs=shown.inputs,
            outputs=shown.outputs,
            alignments={
                measure: [math.nan if r is None else r.alignments.get(measure, math.nan) for r in reports]
                for measure in SHOWN
            },
            errors=[math.nan if r is None else r.errors.get("FACT", math.nan) for r in reports],
            averaged=[math.nan if r is None else r.averaged for r in reports],
            effective_rank=[math.nan if r is None else r.effective_rank for r in reports],
            spectrum=[[] if r is None else list(r.spectrum) for r in reports],
            moved=[math.nan if r is None else r.moved for r in reports],
            since_previous=[
                math.nan if r is None else self._since_previous(m, r)
                for m, r in zip(self.moments, reports, strict=True)
            ],
            states=tuple("undecided" if r is None else r.verdict.state for r in reports),
            evidence=tuple("not in this checkpoint" if r is None else r.verdict.evidence for r in reports),
        )

    def _update_courses(self) -> tuple[UpdateCourse, ...]:
        names = dict.fromkeys(update.name for moment in self.moments for update in moment.updates)
        courses = []
        for name in names:
            own = [next((u for u in moment.updates if u.name == name), None) for moment in self.moments]
            courses.append(
                UpdateCourse(
                    name=name,
                    rank=max(update.rank for update in own if update is not None),
                    size=[math.nan if update is None else update.size for update in own],
                    effective_rank=[math.nan if update is None else update.effective_rank for update in own],
                )
            )
        return tuple(courses)

    def _matrix(self, value: Callable[[LayerReport], float]) -> np.ndarray:
        reports = [[self._report(moment, name) for moment in self.moments] for name in self.layers]
        return np.array([[math.nan if r is None else float(value(r)) for r in row] for row in reports])

    @staticmethod
    def _report(moment: Moment, name: str) -> LayerReport | None:
        return next((layer for layer in moment.result.layers if layer.name == name), None)

    @staticmethod
    def _since_previous(moment: Moment, layer: LayerReport) -> float:
        return moment.since_previous.get(layer.name.partition("[")[0], math.nan)
