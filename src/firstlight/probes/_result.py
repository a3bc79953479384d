"""The result of a probe, layer by layer: a table, a figure, a record, a file. Needs no torch."""

import dataclasses
import json
import math
import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from annotated_types import Ge

from firstlight._files import write_atomically
from firstlight.probes._directions import Directions, top_directions
from firstlight.probes._verdict import State, Verdict
from firstlight.records import FigureData, ProbedLayer, ProbeRecord, figure
from firstlight.records._layout import Form, Tensor, check_tensors, parse_form, read_tensors, reading

MEASURES = ("FACT", "√FACT·FACTᵀ", "AGOP", "√AGOP", "eNFA", "√eNFA")
SHOWN = ("FACT", "√FACT·FACTᵀ", "√AGOP", "√eNFA")
"""The measures of the paper's Table 2."""

_METADATA_KEY = "firstlight.probe"
_DIRECTIONS = "leading directions"


@dataclass(frozen=True, eq=False)
class LayerReport:
    """The report on a layer; unknown numbers are NaN.

    **Attributes:**

    - `name`: name of the parameter, with the part in brackets if it is split.
    - `kind`: how the weight is used: linear, convolution or embedding.
    - `inputs`: number of inputs.
    - `outputs`: number of outputs.
    - `groups`: number of groups of a convolution, else 1.
    - `side`: "in" if the feature matrix is WWᵀ of W (in, out), "out" if it is WᵀW.
    - `weight_decay`: λ.
    - `rule`: how the optimizer applies λ: "L2", "decoupled" or "none".
    - `alignments`: alignment of every measure with the feature matrix.
    - `size`: ⟨FACT, NFM⟩/⟨NFM, NFM⟩, 1 at convergence.
    - `residual`: ‖NFM − FACT‖/‖NFM‖, 0 at convergence.
    - `verdict`: lazy, learning, converged or undecided, with the evidence.
    - `errors`: standard error of every alignment, by a jackknife over groups of batches; NaN for a single batch.
    - `averaged`: alignment of FACT averaged along the last steps or checkpoints, if they are known.
    - `agop_error`: relative error of AGOP in the Frobenius norm, 0 if every row and every output was used.
    - `captured`: fraction of ‖NFM‖ in the directions that `rank` selects, else 1.
    - `budget`: wd·Σlr/(1 − momentum) of the training so far.
    - `moved`: relative change of the weights since initialisation.
    - `effective_rank`: (Σσ²)²/Σσ⁴ over the singular values σ of W.
    - `spectrum`: shares of the leading eigenvalues of the feature matrix in its trace.
    - `withheld`: why AGOP and eNFA are withheld, or "".
    - `at_start`: the alignments of the same layer at its start, if a start was given.
    - `shape`: channels and window of a convolution, else ().
    - `directions`: (k, inputs) leading directions of the feature matrix, see `ProbeResult.top_directions`.
    - `backward`: the alignments on the other side, if requested.
    - `backward_residual`: the residual on the other side, if requested.
    - `matrices`: the matrices by name, if requested.
    """

    name: str
    kind: str
    inputs: int
    outputs: int
    groups: int
    side: str
    weight_decay: float
    rule: str
    alignments: dict[str, float]
    size: float
    residual: float
    verdict: Verdict
    errors: dict[str, float] = field(default_factory=dict)
    averaged: float = math.nan
    agop_error: float = 0.0
    captured: float = 1.0
    budget: float = math.nan
    moved: float = math.nan
    effective_rank: float = math.nan
    spectrum: tuple[float, ...] = ()
    withheld: str = ""
    at_start: dict[str, float] = field(default_factory=dict)
    backward: dict[str, float] = field(default_factory=dict)
    backward_residual: float = math.nan
    shape: tuple[int, ...] = ()
    directions: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    matrices: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult:
    """The reports on all layers of a model, and the parameters that could not be treated, each with the reason."""

    layers: tuple[LayerReport, ...]
    untreated: dict[str, str]
    samples: int
    alignment: str

    def __getitem__(self, name: str) -> LayerReport:
        """Return the layer of this name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"no layer {name!r}; there are {[layer.name for layer in self.layers]}")

    def table(self, measures: tuple[str, ...] = SHOWN, *, backward: bool = False) -> pd.DataFrame:
        """Return one row per layer: alignments, size, budget, verdict and evidence; untreated parameters last."""
        rows = {}
        for layer in self.layers:
            values = layer.backward if backward else layer.alignments
            rows[layer.name] = {
                "kind": layer.kind,
                "in": layer.inputs,
                "out": layer.outputs,
                **{measure: values.get(measure, math.nan) for measure in measures},
                "± FACT": math.nan if backward else layer.errors.get("FACT", math.nan),
                "AGOP error": layer.agop_error,
                "size": layer.size,
                "budget": layer.budget,
                "verdict": layer.verdict.state,
                "evidence": layer.verdict.evidence,
            }
        for name, reason in self.untreated.items():
            rows[name] = {"kind": "untreated", "verdict": "undecided", "evidence": reason}
        columns = ["kind", "in", "out", *measures, "± FACT", "AGOP error", "size", "budget", "verdict", "evidence"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        frame.index.name = "layer"
        return frame.astype({"in": "Int64", "out": "Int64"})

    def __repr__(self) -> str:
        states = ", ".join(f"{layer.name} {layer.verdict.state}" for layer in self.layers[:4])
        more = f", … ({len(self.layers)} layers)" if len(self.layers) > 4 else ""
        return f"ProbeResult({self.samples} samples: {states}{more})"

    def _repr_html_(self) -> str:
        return self.table().drop(columns=["kind"]).to_html(float_format="{:.3g}".format, na_rep="")

    def __str__(self) -> str:
        """Return a table that fits a terminal: alignments ± standard errors, size, verdict, and the evidence below."""
        return as_text(self)

    def top_directions(
        self,
        name: str,
        k: int = 4,
        *,
        columns: Sequence[str] | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Directions:
        """Return the leading directions of a layer's feature matrix: what the layer looks at.

        **Arguments:**

        - `name`: name of the layer.
        - `k`: number of directions, at most 8.
        - `columns`: names of the inputs, for a table.
        - `shape`: shape of the inputs, for images; a convolution has its own.
        """
        layer = self[name]
        return top_directions(layer.name, layer.directions, layer.spectrum, k, columns, shape or layer.shape)

    def figure_data(self, measures: tuple[str, ...] = MEASURES) -> FigureData:
        """Show the alignments as a table of layers and measures."""
        if not self.layers:
            raise ValueError(f"no layer could be treated: {self.untreated}")
        values = [[layer.alignments.get(measure, math.nan) for measure in measures] for layer in self.layers]
        states = [f"{layer.name} ({layer.verdict.state})" for layer in self.layers]
        return figure.alignment(
            np.clip(np.array(values, dtype=float), -1, 1),
            rows=states,
            columns=list(measures),
            x="measure",
            y="layer",
            value=self.alignment,
            title="Alignment of each measure with the layer's feature matrix",
            caption=f"{self.samples} samples.",
        )

    def record(self, name: str = "", measures: tuple[str, ...] = SHOWN) -> ProbeRecord:
        """Return the result as plain data, for a store and for `report.write(path, [result.record()])`.

        **Arguments:**

        - `name`: a name for the model, used as title.
        - `measures`: the measures to keep of each layer.
        """
        layers = tuple(
            ProbedLayer(
                name=layer.name,
                kind=layer.kind,
                inputs=layer.inputs,
                outputs=layer.outputs,
                weight_decay=layer.weight_decay,
                alignments={measure: layer.alignments.get(measure, math.nan) for measure in measures},
                size=layer.size,
                budget=layer.budget,
                state=layer.verdict.state,
                evidence=layer.verdict.evidence,
            )
            for layer in self.layers
        )
        return ProbeRecord(
            name=name,
            layers=layers,
            untreated=self.untreated,
            samples=self.samples,
            alignment=self.alignment,
            figures=(self.figure_data(),) if self.layers else (),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write numbers and matrices to one `.safetensors` file, atomically."""
        from safetensors.numpy import save

        header, arrays = self.packed()
        return write_atomically(path, save(arrays, metadata={_METADATA_KEY: header}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ProbeResult":
        """Read a file that `save` wrote; it contains no code."""
        with reading(path, "a whole probe file", "give a file written by ProbeResult.save, or probe the model again"):
            metadata, arrays = read_tensors(path)
            return cls.unpacked(metadata.get(_METADATA_KEY), arrays)

    def packed(self) -> tuple[str, dict[str, np.ndarray]]:
        """Return the result as a JSON header and arrays by name."""
        layers, arrays = [], {}
        for layer in self.layers:
            words = dataclasses.asdict(layer)
            words["matrices"] = list(layer.matrices)
            arrays[f"{layer.name}/{_DIRECTIONS}"] = np.ascontiguousarray(words.pop("directions"))
            layers.append(words)
            arrays |= {f"{layer.name}/{name}": np.ascontiguousarray(m) for name, m in layer.matrices.items()}
        header = {"layers": layers, "untreated": self.untreated, "samples": self.samples, "alignment": self.alignment}
        return json.dumps(header), arrays

    @classmethod
    def unpacked(cls, text: str | None, arrays: dict[str, np.ndarray]) -> "ProbeResult":
        """Return the result that `packed` took apart."""
        header = parse_form(_Header, text, _METADATA_KEY)
        names = [layer.name for layer in header.layers]
        if len(set(names)) < len(names):
            raise ValueError("its layers must have different names; got the same name twice")
        saved = [f"{layer.name}/{name}" for layer in header.layers for name in (*layer.matrices, _DIRECTIONS)]
        check_tensors(arrays, {name: Tensor((f"{name} rows", f"{name} columns"), finite=False) for name in saved})
        layers = tuple(_layer(layer, arrays) for layer in header.layers)
        return cls(layers, header.untreated, header.samples, header.alignment)


class _VerdictForm(Form):
    state: State
    evidence: str


class _LayerForm(Form):
    """The fields of `LayerReport`, with the names of its matrices in their place."""

    name: str
    kind: str
    inputs: Annotated[int, Ge(0)]
    outputs: Annotated[int, Ge(0)]
    groups: Annotated[int, Ge(0)]
    side: Literal["in", "out"]
    weight_decay: float
    rule: str
    alignments: dict[str, float]
    size: float
    residual: float
    verdict: _VerdictForm
    errors: dict[str, float]
    averaged: float = math.nan
    agop_error: float
    captured: float
    budget: float
    moved: float
    effective_rank: float
    spectrum: list[float]
    withheld: str
    at_start: dict[str, float]
    backward: dict[str, float]
    backward_residual: float
    shape: list[int]
    matrices: list[str]


class _Header(Form):
    layers: list[_LayerForm]
    untreated: dict[str, str]
    samples: Annotated[int, Ge(0)]
    alignment: Literal["pearson", "cosine"]


def _layer(form: _LayerForm, arrays: dict[str, np.ndarray]) -> LayerReport:
    matrices = {name: arrays[f"{form.name}/{name}"] for name in form.matrices}
    whole = {
        **form.model_dump(),
        "matrices": matrices,
        "spectrum": tuple(form.spectrum),
        "shape": tuple(form.shape),
        "directions": arrays[f"{form.name}/{_DIRECTIONS}"],
        "verdict": Verdict(**form.verdict.model_dump()),
    }
    return LayerReport(**whole)


def as_text(result: ProbeResult, width: int = 100) -> str:
    """Return a result as lines of at most `width` characters; verdicts are never cut."""
    names = [layer.name for layer in result.layers] + list(result.untreated)
    if not names:
        return "no layer with a weight matrix"
    longest = max(len("layer"), min(max(map(len, names)), width - 67))
    lines = [f"{'layer':<{longest}}  {'FACT':>14}  {'√AGOP':>14}  {'√eNFA':>14}  {'size':>7}  verdict"]
    for layer in result.layers:
        cells = [_with_error(layer.alignments, layer.errors, name) for name in ("FACT", "√AGOP", "√eNFA")]
        row = "  ".join(f"{cell:>14}" for cell in cells)
        lines.append(f"{_cut(layer.name, longest)}  {row}  {layer.size:>7.3g}  {layer.verdict.state}")
    lines += [f"{_cut(name, longest)}  {'untreated':>14}{'':41}  undecided" for name in result.untreated]
    lines.append(f"{result.samples} samples; alignment is {result.alignment}; ± is one standard error.")
    for layer in result.layers:
        lines += textwrap.wrap(f"{layer.name}: {layer.verdict.evidence}", width, subsequent_indent="  ")
    for name, reason in result.untreated.items():
        lines += textwrap.wrap(f"{name}: {reason}", width, subsequent_indent="  ")
    return "\n".join(lines)


def _with_error(values: dict[str, float], errors: dict[str, float], name: str) -> str:
    value, error = values.get(name, math.nan), errors.get(name, math.nan)
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if math.isnan(error) else f"{value:.3f} ± {error:.3f}"


def _cut(name: str, width: int) -> str:
    return f"{name:<{width}}" if len(name) <= width else f"…{name[len(name) - width + 1 :]}"
