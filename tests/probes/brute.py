"""FACT, AGOP and eNFA written out: one sample at a time, one output at a time, in double precision."""

import copy

import numpy as np
import torch
from torch import nn

WITHIN = 1e-5
"""Largest relative error of a matrix in single precision."""


def image_rows(t):
    """(1, K, …) → (positions, K)."""
    return t.movedim(1, -1).reshape(-1, t.shape[1])


def pulled(module, delta):
    """The gradients at a module's inputs, a stack over groups, from those at its outputs."""
    W = module.weight.detach()
    if isinstance(module, nn.modules.conv._ConvNd):
        groups, rows = module.groups, image_rows(delta)
        parts = rows.reshape(len(rows), groups, -1).transpose(0, 1)
        return parts @ W.reshape(groups, W.shape[0] // groups, -1)
    if isinstance(module, nn.Embedding):
        return delta.reshape(1, -1, delta.shape[-1])
    rows = delta.reshape(1, -1, delta.shape[-1])
    return rows @ (W if isinstance(module, nn.Linear) else W.T)


def matrices(model, take, n, loss_of, outputs_of, weight_decay, only=None):
    """name → {"FACT", "AGOP", "eNFA"} of every Linear, convolution and Embedding.

    **Arguments:**

    - `take`: `take(i)` returns the arguments of the model for sample i alone.
    - `n`: number of samples.
    - `loss_of`: `loss_of(i, output)` returns the loss of sample i.
    - `outputs_of`: turns the model's output into a tensor.
    - `only`: names of the weights to treat, if not all.
    """
    model = copy.deepcopy(model).double().eval()
    kinds = (nn.Linear, nn.modules.conv._ConvNd, nn.Embedding)
    modules = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, kinds) or type(module).__name__ == "Conv1D"
    }
    names = {id(p): name for name, p in model.named_parameters()}
    modules = {key: module for key, module in modules.items() if only is None or names[id(module.weight)] in only}
    sums = {}
    for i in range(n):
        seen = []

        def hook(module, _, made, seen=seen):
            shift = torch.zeros_like(made, requires_grad=True)
            seen.append((module, shift))
            return made + shift

        handles = [module.register_forward_hook(hook) for module in modules.values()]
        made = model(**take(i)) if isinstance(take(i), dict) else model(*take(i))
        for handle in handles:
            handle.remove()
        shifts = [shift for _, shift in seen]
        loss = loss_of(i, made)
        weights = {id(module.weight): module.weight for module in modules.values()}
        options = {"retain_graph": True, "allow_unused": True}
        for W, G in zip(weights.values(), torch.autograd.grad(loss, list(weights.values()), **options), strict=True):
            add(sums, (names[id(W)], "gradient"), G)
        rows = [("eNFA", torch.autograd.grad(loss, shifts, **options))]
        rows += [("AGOP", torch.autograd.grad(f, shifts, **options)) for f in outputs_of(made).reshape(-1)]
        for measure, deltas in rows:
            for (module, _), delta in zip(seen, deltas, strict=True):
                if delta is not None:
                    g = pulled(module, delta)
                    add(sums, (names[id(module.weight)], measure), g.transpose(1, 2) @ g)
    found = {}
    for name, W in ((name, p.detach()) for name, p in model.named_parameters() if (name, "gradient") in sums):
        module = next(m for m in modules.values() if m.weight is dict(model.named_parameters())[name])
        groups = getattr(module, "groups", 1)
        G = sums[name, "gradient"] / n
        if type(module).__name__ == "Conv1D":
            W, G = W.T, G.T
        W, G = (t.reshape(groups, t.shape[0] // groups, -1) for t in (W, G))
        found[name] = {"FACT": -(W.transpose(1, 2) @ G) / weight_decay}
        found[name] |= {m: sums[name, m] / n for m in ("AGOP", "eNFA") if (name, m) in sums}
        found[name] = {m: matrix.reshape(-1, matrix.shape[-1]).numpy() for m, matrix in found[name].items()}
    return found


def add(sums, key, value):
    if value is not None:
        sums[key] = sums.get(key, 0) + value.detach()


def worst(result, expected):
    """(error, name, measure) of the worst matrix: largest difference over largest entry. Withheld ones are left out."""
    errors = []
    for layer in result.layers:
        for measure, matrix in expected[layer.name].items():
            if layer.withheld and measure != "FACT":
                continue
            error = np.abs(layer.matrices[measure] - matrix).max() / np.abs(matrix).max()
            errors.append((float(error), layer.name, measure))
    return max(errors)
