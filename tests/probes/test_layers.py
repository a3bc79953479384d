"""Every kind of layer against sums written out sample by sample; `fact.theorem-3-1` has them at critical points."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from firstlight import probes
from firstlight.probes._experiments.critical import settle
from firstlight.probes._experiments.layers import CASES
from tests.tolerances import rounding

LAMBDA = 0.3


def close(actual, expected):
    """Equal up to the rounding of sums of at most 1000 terms, over samples, positions and units."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rounding(np.abs(expected).max(), 1000))


def by_hand(model, module, x, y, loss_fn):
    """(h, δ) of one module, sample by sample, from a zero shift added to what the module returns."""
    inputs, deltas, jacobians = [], [], []
    n = len(x)
    for i in range(n):
        seen = []

        def hook(_, given, made, seen=seen):
            shift = torch.zeros_like(made, requires_grad=True)
            seen.append((given[0], shift))
            return made + shift

        handle = module.register_forward_hook(hook)
        out = model(x[i : i + 1])
        handle.remove()
        shifts = [shift for _, shift in seen]
        loss = loss_fn(out, y[i : i + 1])
        inputs.append([given for given, _ in seen])
        deltas.append(torch.autograd.grad(loss, shifts, retain_graph=True))
        flat = out.reshape(-1)
        jacobians.append([torch.autograd.grad(f, shifts, retain_graph=True) for f in flat])
    return inputs, deltas, jacobians


def rows(t):
    return t.reshape(-1, t.shape[-1])


def image_rows(t):
    return t.flatten(2).transpose(1, 2).reshape(-1, t.shape[1])


def outer(parts):
    return sum(p.T @ p for p in parts).detach().numpy()


def test_linear_with_skip_and_repeated_use():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x):
            h = torch.tanh(self.a(x))
            return self.b(h + functional.relu(self.a(h), inplace=True))

    model = Twice().double()
    x, y = torch.randn(5, 4, 3).double(), torch.randn(5, 4, 2).double()
    found = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, batch_dim=0, backward=True, keep_matrices=True)[
        "a.weight"
    ]
    h, delta, jacobian = by_hand(model, model.a, x, y, nn.MSELoss())
    W = model.a.weight.detach()
    fact = -sum((rows(d) @ W).T @ rows(g) for hs, ds in zip(h, delta, strict=True) for g, d in zip(hs, ds, strict=True))
    close(found.matrices["FACT"], fact.detach() / (5 * LAMBDA))
    close(found.matrices["eNFA"], outer(rows(d) @ W for ds in delta for d in ds) / 5)
    close(found.matrices["beNFA"], outer(rows(d) for ds in delta for d in ds) / 5)
    agop = outer(rows(d) @ W for one in jacobian for ds in one for d in ds) / 5
    close(found.matrices["AGOP"], agop)
    assert found.kind == "linear ×2"


@pytest.mark.parametrize(
    ("options", "shape"),
    [({"groups": 2, "stride": 2, "padding": 1}, (4, 5, 5)), ({"padding": "same", "dilation": 2}, (4, 5, 6))],
)
def test_convolution_is_a_product_with_unfolded_inputs(options, shape):
    model = nn.Sequential(nn.Conv2d(4, 6, 3, **options), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)).double()
    x, y = torch.randn(5, *shape).double(), torch.randn(5, 2).double()
    model(x)
    found = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, keep_matrices=True)["0.weight"]
    h, delta, jacobian = by_hand(model, model[0], x, y, nn.MSELoss())
    groups = options.get("groups", 1)
    W = model[0].weight.detach().reshape(groups, 6 // groups, -1)
    unfolding = {"stride": options.get("stride", 1), "dilation": options.get("dilation", 1)}
    unfolding["padding"] = 2 if options["padding"] == "same" else options["padding"]
    fact, enfa, agop = [], [], []
    for g in range(groups):
        cut = slice(g * 6 // groups, (g + 1) * 6 // groups)
        pulled = [[image_rows(d[:, cut]) @ W[g] for d in ds] for ds in delta]
        unfolded = [functional.unfold(i[0].chunk(groups, 1)[g], 3, **unfolding).transpose(1, 2)[0] for i in h]
        fact.append(-sum(p[0].T @ u for p, u in zip(pulled, unfolded, strict=True)).numpy() / (5 * LAMBDA))
        enfa.append(outer(p for ps in pulled for p in ps) / 5)
        agop.append(outer(image_rows(d[:, cut]) @ W[g] for one in jacobian for ds in one for d in ds) / 5)
    close(found.matrices["FACT"], np.concatenate(fact))
    close(found.matrices["eNFA"], np.concatenate(enfa))
    close(found.matrices["AGOP"], np.concatenate(agop))
    assert found.groups == groups


def test_embedding_and_its_padding():
    class Lookup(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(6, 3, padding_idx=0), nn.Linear(3, 2)

        def forward(self, tokens):
            return self.head(torch.tanh(self.embed(tokens)).sum(1))

    model = Lookup().double()
    tokens, y = torch.tensor([[1, 0], [2, 5], [1, 1], [0, 4]]), torch.randn(4, 2).double()
    found = probes.probe(model, [(tokens, y)], nn.MSELoss(), LAMBDA, keep_matrices=True)["embed.weight"]
    _, delta, _ = by_hand(model, model.embed, tokens, y, nn.MSELoss())
    one_hot = functional.one_hot(tokens, 6).double()
    kept = [(one_hot[i] * (tokens[i] > 0)[:, None], d[0][0] * (tokens[i] > 0)[:, None]) for i, d in enumerate(delta)]
    W = model.embed.weight.detach()
    fact = -sum((e @ W).T @ d for e, d in kept) / (4 * LAMBDA)
    close(found.matrices["FACT"], fact)
    close(found.matrices["eNFA"], outer(d for _, d in kept) / 4)
    assert (found.side, found.kind) == ("out", "embedding")


@pytest.mark.parametrize("cross", [False, True])
def test_multihead_attention_equals_its_projections_written_out(cross):
    class Modules(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True, bias=False)

        def forward(self, x):
            key = x.flip(1)[:, :2] if cross else x
            return self.attention(x, key, key)[0]

    class Written(nn.Module):
        def __init__(self, other):
            super().__init__()
            q, k, v = other.in_proj_weight.detach().chunk(3)
            self.q, self.k, self.v = (nn.Parameter(w.clone()) for w in (q, k, v))
            self.o = nn.Parameter(other.out_proj.weight.detach().clone())

        def forward(self, x):
            key = x.flip(1)[:, :2] if cross else x
            q, k, v = (
                (x @ self.q.T).unflatten(-1, (2, 2)).transpose(1, 2),
                functional.linear(key, self.k).unflatten(-1, (2, 2)).transpose(1, 2),
                torch.einsum("btd,kd->btk", key, self.v).unflatten(-1, (2, 2)).transpose(1, 2),
            )
            mixed = torch.softmax(q @ k.transpose(-1, -2) / 2**0.5, -1) @ v
            return mixed.transpose(1, 2).flatten(2) @ self.o.T

    one = Modules().double()
    two = Written(one.attention)
    x, y = torch.randn(5, 3, 4).double(), torch.randn(5, 3, 4).double()
    options = {"loss_fn": nn.MSELoss(), "weight_decay": LAMBDA, "keep_matrices": True, "backward": True}
    a, b = probes.probe(one, [(x, y)], **options), probes.probe(two, [(x, y)], **options)
    names = {f"attention.in_proj_weight[{part}]": part for part in "qkv"} | {"attention.out_proj.weight": "o"}
    assert [layer.name for layer in a.layers] == list(names)
    assert not a.untreated
    for long, short in names.items():
        for name, matrix in a[long].matrices.items():
            np.testing.assert_allclose(matrix, b[short].matrices[name], atol=1e-10)


def test_the_total_gradient_at_the_input_is_not_meant():
    """Around a skip connection autograd's ∂ℓ/∂h is another vector; FACT from it is wrong at a critical point."""
    torch.manual_seed(1)
    case = CASES["linear, bias, skip; mean MSE"]()
    settle(case.model, case.inputs, case.targets, case.loss_fn, case.weight_decay)
    h = torch.tanh(case.model.enter(case.inputs)).detach().requires_grad_()
    loss = case.loss_fn(case.model.leave(h + torch.tanh(case.model.inner(h))), case.targets)
    total = torch.autograd.grad(loss, h)[0]
    wrong = (-total.T @ h / case.weight_decay).detach().numpy()
    W = case.model.inner.weight.detach().numpy()
    assert np.linalg.norm(wrong - W.T @ W) > 0.5 * np.linalg.norm(W.T @ W)


def test_a_weight_cut_by_hand_equals_its_parts_together():
    """x·chunk(W) seen as one layer, and as the parts it is cut into; rows may be counted from the end."""

    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(7, 4))

        def forward(self, x):
            a, b = self.w[:-3], self.w[-3:]
            return torch.tanh(x @ a.T)[:, :3] * torch.tanh(functional.linear(x, b))

    model = Cut().double()
    x, y = torch.randn(6, 4).double(), torch.randn(6, 3).double()
    options = {"loss_fn": nn.MSELoss(), "weight_decay": LAMBDA, "keep_matrices": True, "backward": True}
    found = probes.probe(model, [(x, y)], **options)["w"]
    W = model.w.detach()
    h = (x @ W.T).requires_grad_()
    made = torch.tanh(h[:, :4])[:, :3] * torch.tanh(h[:, 4:])
    delta = 6 * torch.autograd.grad(nn.functional.mse_loss(made, y), h, retain_graph=True)[0]
    slopes = [torch.autograd.grad(made[:, k].sum(), h, retain_graph=True)[0] for k in range(3)]
    # The two products come back one by one: no covariance between them.
    cut = torch.zeros(7, 7).double()
    cut[:4, :4] = cut[4:, 4:] = 1
    for name, parts in (("eNFA", [delta]), ("AGOP", slopes)):
        both = cut.numpy() * outer(parts) / 6
        close(found.matrices[f"b{name}"], both)
        close(found.matrices[name], W.T.numpy() @ both @ W.numpy())
    close(found.matrices["FACT"], -(delta @ W).T @ x / (6 * LAMBDA))


@pytest.mark.parametrize(
    ("used", "reason"),
    [
        (lambda x, w: x @ w.view(2, 2, 4).transpose(0, 1).reshape(4, 4).T, "its entries change row or column"),
        (lambda x, w: x[:, :2] @ w[:2] + x[:, 2:] @ w[2:], "sliced along its inputs"),
        (lambda x, w: x @ (2 * w), "enters MulBackward0"),
    ],
)
def test_a_weight_that_is_rearranged_is_not_taken_for_another(used, reason):
    class Rearranged(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 4))

        def forward(self, x):
            return torch.tanh(used(x, self.w))

    found = probes.probe(Rearranged(), [(torch.randn(5, 4), torch.randn(5, 4))], nn.MSELoss(), LAMBDA)
    assert not found.layers
    assert reason in found.untreated["w"]


def test_batched_and_expanded_weights_are_still_seen():
    class Expanded(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 3))

        def forward(self, x):
            return torch.bmm(x, self.w.expand(4, 4, 3).permute(0, 1, 2)) + x @ self.w.view(1, 4, 3)

    model = Expanded().double()
    x, y = torch.randn(4, 2, 4).double(), torch.randn(4, 2, 3).double()
    found = probes.probe(model, [(x, y)], nn.MSELoss(), LAMBDA, batch_dim=0, keep_matrices=True)["w"]
    gradient = torch.autograd.grad(nn.functional.mse_loss(model(x), y), model.w)[0]
    W = model.w.detach()
    close(found.matrices["FACT"], -(W @ gradient.T) / LAMBDA)
    assert (found.kind, found.inputs, found.outputs) == ("linear ×2", 4, 3)
