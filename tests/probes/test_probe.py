"""The probe leaves a model as it was, streams, answers clearly, and its random projections are unbiased."""

import inspect
import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from firstlight import plots, probes, report
from firstlight.probes._decay import decay_from_group
from firstlight.probes._feature_probe import ProbeOptions
from firstlight.records import ProbeRecord


def network(*sizes, bias=True):
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair, bias=bias), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def data(n=24, d=4, c=3, batch=8):
    x, y = torch.randn(n, d), torch.randn(n, c)
    return [(x[i : i + batch], y[i : i + batch]) for i in range(0, n, batch)]


def test_batches_add_up_to_the_whole():
    model, batches = network(4, 6, 3).double(), [(x.double(), y.double()) for x, y in data(22)]
    whole = [tuple(torch.cat(part) for part in zip(*batches, strict=True))]
    for options in ({"reduction": "mean"}, {"reduction": "sum"}):
        loss = nn.MSELoss(**options)
        kept = {"loss_fn": loss, "weight_decay": 0.1, "keep_matrices": True, **options}
        a, b = probes.probe(model, batches, **kept), probes.probe(model, whole, **kept)
        for layer in a.layers:
            for name, matrix in layer.matrices.items():
                np.testing.assert_allclose(matrix, b[layer.name].matrices[name], atol=1e-9, err_msg=name)


def test_the_model_is_left_as_it_was():
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 3))
    model.train()
    model[2].eval()
    x, y = torch.randn(8, 4), torch.randn(8, 3)
    nn.functional.mse_loss(model(x), y).backward()
    before = {name: (p.grad.clone(), p.detach().clone()) for name, p in model.named_parameters()}
    buffers, state = [b.clone() for b in model.buffers()], torch.get_rng_state()
    for training in (False, True):
        probes.probe(model, [(x, y)], nn.MSELoss(), 0.1, training=training, outputs=1)
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            probes.probe(model, [(x[:, :2], y)], nn.MSELoss(), 0.1, training=training)
    assert torch.equal(state, torch.get_rng_state())
    assert [m.training for m in model] == [True, True, False, True]
    assert all(torch.equal(b, old) for b, old in zip(model.buffers(), buffers, strict=True))
    for name, p in model.named_parameters():
        assert torch.equal(p.grad, before[name][0])
        assert torch.equal(p, before[name][1])
    assert not any(m._forward_hooks or m._backward_hooks for m in model.modules())
    with torch.inference_mode():
        assert probes.probe(model, [(x.clone(), y.clone())], nn.MSELoss(), 0.1).samples == 8


def test_loaders_draw_no_random_numbers_of_the_users():
    model, x, y = network(4, 6, 3), torch.randn(8, 4), torch.randn(8, 3)
    own = torch.Generator().manual_seed(3)
    for generator in (None, own):
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(x, y), batch_size=4, shuffle=True, generator=generator
        )
        before = torch.get_rng_state(), own.get_state()
        probes.probe(model, loader, nn.MSELoss(), 0.1)
        assert torch.equal(before[0], torch.get_rng_state())
        assert torch.equal(before[1], own.get_state())


def test_buffers_that_the_forward_pass_changes_or_replaces_come_back():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network(4, 6, 3)
            self.register_buffer("changed", torch.zeros(1))
            self.register_buffer("replaced", torch.zeros(1))

        def forward(self, x):
            self.changed += 1
            self.replaced = self.replaced + 1
            return self.net(x)

    model = Counting()
    kept = model.replaced
    probes.probe(model, data(), nn.MSELoss(), 0.1)
    assert (float(model.changed), float(model.replaced), model.replaced is kept) == (0.0, 0.0, True)


def test_wrapped_models_and_structured_outputs():
    class Answering(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network(4, 6, 3)

        def forward(self, x):
            return {"logits": self.net(x), "note": "…"}

    torch.manual_seed(1)
    model, batches = Answering(), data()
    loss = lambda made, y: nn.functional.mse_loss(made["logits"], y)  # noqa: E731
    plain = probes.probe(model.net, batches, nn.MSELoss(), 0.1)
    for wrapped in (model, nn.DataParallel(model)):
        found = probes.probe(wrapped, batches, loss, 0.1)
        assert [layer.name for layer in found.layers] == ["net.0.weight", "net.2.weight"]
        assert [x.alignments for x in found.layers] == [x.alignments for x in plain.layers]
    model.forward = lambda x: (model.net(x),)
    with pytest.raises(ValueError, match="the model returned tuple; AGOP needs a tensor of outputs"):
        probes.probe(model, batches, lambda made, y: nn.functional.mse_loss(made[0], y), 0.1)


def projected(model, batches, weight, seeds, options):
    """The exact AGOP, the layer as drawn with each seed, the error these state and the one they have."""
    exact = probes.probe(model, batches, outputs="exact", **options)[weight].matrices["AGOP"]
    drawn = [probes.probe(model, batches, seed=seed, outputs=4, **options)[weight] for seed in range(seeds)]
    errors = [np.linalg.norm(one.matrices["AGOP"] - exact) / np.linalg.norm(exact) for one in drawn]
    return exact, drawn, np.mean([one.agop_error for one in drawn]), math.sqrt(np.mean(np.square(errors)))


def test_projections_are_unbiased_and_their_error_is_stated():
    model, batches = network(5, 8, 40).double(), [(torch.randn(64, 5).double(), torch.randn(64, 40).double())]
    options = {"loss_fn": nn.MSELoss(), "weight_decay": 0.1, "keep_matrices": True}
    exact, drawn, stated, rms = projected(model, batches, "0.weight", 40, options)
    assert 0.6 * stated < rms < 1.1 * stated
    mean = np.mean([one.matrices["AGOP"] for one in drawn], axis=0)
    assert np.linalg.norm(mean - exact) / np.linalg.norm(exact) < 3 * rms / math.sqrt(40)
    more = probes.probe(model, batches, outputs=64, **options)["0.weight"]
    assert more.agop_error == pytest.approx(stated / 4, rel=0.3)


def test_the_stated_error_covers_a_weight_used_many_times():
    """A recurrent weight's uses are projected with the same signs, so that their errors add up, not their squares."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.again, self.out = nn.Linear(4, 4), nn.Linear(4, 20)

        def forward(self, x):
            for _ in range(12):
                x = x + 0.01 * self.again(x)
            return self.out(x)

    model, batches = Recurrent().double(), [(torch.randn(16, 4).double(), torch.randn(16, 20).double())]
    options = {"loss_fn": nn.MSELoss(), "weight_decay": 0.1, "keep_matrices": True}
    *_, stated, rms = projected(model, batches, "again.weight", 20, options)
    assert 0.4 * stated < rms < 1.2 * stated


def test_a_tied_embedding_is_projected_too():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(7, 3), nn.Linear(3, 7, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(torch.tanh(self.embed(tokens)))

    tokens = torch.randint(0, 7, (6, 5))
    loss = lambda made, y: nn.functional.cross_entropy(made.flatten(0, 1), y.flatten())  # noqa: E731
    model, options = Tied(), {"loss_fn": loss, "weight_decay": 0.1, "keep_matrices": True, "batch_dim": 0}
    exact = probes.probe(model, [(tokens, tokens)], outputs="exact", **options)["embed.weight"].matrices["AGOP"]
    many = probes.probe(model, [(tokens, tokens)], outputs=200, **options)["embed.weight"]
    assert 0 < np.linalg.norm(many.matrices["AGOP"] - exact) / np.linalg.norm(exact) < 2 * many.agop_error < 0.5


def test_low_rank_sees_the_leading_directions():
    model, batches = network(12, 10, 3).double(), [(torch.randn(30, 12).double(), torch.randn(30, 3).double())]
    options = {"loss_fn": nn.MSELoss(), "weight_decay": 0.1, "keep_matrices": True}
    whole, few = probes.probe(model, batches, **options)["0.weight"], probes.probe(model, batches, rank=4, **options)
    layer = few["0.weight"]
    U = np.linalg.svd(model[0].weight.detach().numpy().T)[0][:, :4]
    for name in ("NFM", "FACT", "AGOP", "eNFA"):
        inside = np.linalg.svd(U.T @ whole.matrices[name] @ U, compute_uv=False)
        np.testing.assert_allclose(np.linalg.svd(layer.matrices[name], compute_uv=False), inside, rtol=2e-2)
    assert 0.8 < layer.captured < 1
    assert (few.alignment, layer.inputs) == ("cosine", 12)
    with pytest.raises(ValueError, match="excludes backward"):
        probes.FeatureProbe(model, nn.MSELoss(), 0.1, rank=4, backward=True)


def test_mixed_precision_and_a_batch_of_one():
    model, batches = network(6, 16, 3), data(16, 6, batch=1)
    full = probes.probe(model, batches, nn.MSELoss(), 0.1)
    assert full.samples == 16
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            half = probes.probe(model, batches, nn.MSELoss(), 0.1)
        for layer in half.layers:
            for name in ("√FACT·FACTᵀ", "√AGOP", "√eNFA"):
                assert layer.alignments[name] == pytest.approx(full[layer.name].alignments[name], abs=0.03)


def test_layers_without_an_answer_are_named_with_the_reason():
    model = nn.ModuleDict(
        {
            "frozen": nn.Linear(4, 4).requires_grad_(False),
            "normed": nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
            "unused": nn.Linear(4, 4),
            "up": nn.ConvTranspose1d(4, 4, 2),
            "waves": nn.Linear(4, 4, dtype=torch.cfloat),
            "plain": nn.Linear(4, 3),
        }
    )

    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = model

        def forward(self, x):
            h = model["normed"](model["frozen"](x)).tanh() + model["waves"](x.to(torch.cfloat)).abs()
            return model["plain"](model["up"](h[:, :, None]).mean(-1))

    found = probes.probe(Wrapped(), data(), nn.MSELoss(), 0.1)
    assert [layer.name for layer in found.layers] == ["parts.plain.weight"]
    reasons = found.table().query("kind == 'untreated'")["evidence"].to_dict()
    assert "frozen: requires_grad is False" in reasons["parts.frozen.weight"]
    assert "WeightNorm" in reasons["parts.normed.parametrizations.weight.original1"]
    assert "does not depend on it" in reasons["parts.unused.weight"]
    assert "transposed convolution" in reasons["parts.up.weight"]
    assert "complex" in reasons["parts.waves.weight"]


def test_no_weight_decay_is_said_and_the_rest_still_measured():
    found = probes.probe(network(4, 6, 3), data(), nn.MSELoss(), weight_decay=0.0)["0.weight"]
    assert math.isnan(found.alignments["FACT"])
    assert found.verdict.state == "undecided"
    assert "no weight decay" in found.verdict.evidence
    assert 0 < found.alignments["√AGOP"] <= 1


def test_a_bias_may_have_a_decay_of_its_own():
    """At a critical point of L + (λ_W/2)‖W‖² + (λ_b/2)‖b‖², [W b] has its FACT with both; without λ_b it has none."""
    x, y = torch.randn(20, 3).double(), torch.randn(20, 2).double() + 1
    model = nn.Linear(3, 2).double()
    ones = torch.cat([x, torch.ones(20, 1).double()], dim=1)
    decay = torch.diag(torch.tensor([0.2, 0.2, 0.2, 0.05], dtype=torch.float64))
    best = torch.linalg.solve(ones.T @ ones / 20 + decay, ones.T @ y / 20)
    with torch.no_grad():
        model.weight.copy_(best[:3].T)
        model.bias.copy_(best[3])
    options = {"weight_decay": {"weight": 0.2, "bias": 0.05}, "with_bias": True}
    assert probes.probe(model, [(x, y)], nn.MSELoss(), **options)["weight"].residual < 1e-12
    options["weight_decay"] = {"weight": 0.2}
    evidence = probes.probe(model, [(x, y)], nn.MSELoss(), **options)["weight"].verdict.evidence
    assert "its bias has no weight decay" in evidence
    model.bias.requires_grad_(False)
    evidence = probes.probe(model, [(x, y)], nn.MSELoss(), 0.2, with_bias=True)["weight"].verdict.evidence
    assert "its bias is frozen" in evidence


def test_dead_and_diverged_layers_are_said_to_be_so():
    model = network(4, 6, 3)
    nn.init.zeros_(model[0].weight)
    found = probes.probe(model, data(), nn.MSELoss(), 0.1)["0.weight"]
    assert found.verdict == probes.Verdict("undecided", "its weights are zero")
    found = probes.probe(model, [(torch.full((4, 4), torch.nan), torch.randn(4, 3))], nn.MSELoss(), 0.1)
    assert {layer.verdict.state for layer in found.layers} == {"undecided"}
    assert all("not finite" in layer.verdict.evidence for layer in found.layers)


def test_errors_say_what_to_do():
    model = network(4, 6, 3)
    with pytest.raises(ValueError, match="no batch was probed; call step"):
        probes.probe(model, [], nn.MSELoss(), 0.1)
    with pytest.raises(ValueError, match="FACT needs the weight decay of the training"):
        probes.FeatureProbe(model, nn.MSELoss())
    with pytest.raises(ValueError, match="weight_decay must be at least 0, got -1"):
        probes.FeatureProbe(model, nn.MSELoss(), -1.0)
    with pytest.raises(ValueError, match=r"must return a scalar, got a tensor of shape \(8, 3\)"):
        probes.probe(model, data(), nn.MSELoss(reduction="none"), 0.1)
    with pytest.raises(ValueError, match="every parameter is frozen"):
        probes.probe(network(4, 3).requires_grad_(False), data(), nn.MSELoss(), 0.1)
    with pytest.raises(ValueError, match=r"without loss_fn the model must return .loss and .logits"):
        probes.probe(model, data(), weight_decay=0.1)
    renormed = nn.Sequential(nn.Embedding(5, 4, max_norm=0.1), nn.Linear(4, 3))
    with pytest.raises(ValueError, match=r"the model's forward pass changes 0.weight"):
        probes.probe(renormed, [(torch.arange(5), torch.randn(5, 3))], nn.MSELoss(), 0.1)
    x, y = data()[0]
    assert probes.probe(model, [(x[:0], y[:0]), (x, y)], nn.MSELoss(), 0.1).samples == 8
    probe = probes.FeatureProbe(model, nn.MSELoss(), 0.1)
    probe.step(*data()[0])
    with torch.no_grad():
        model[0].weight.mul_(2)
    with pytest.raises(ValueError, match=r"0.weight changed while the model was being probed"):
        probe.step(*data()[0])


def test_lambda_is_read_from_the_optimizer():
    weight = nn.Parameter(torch.zeros(2, 2))
    rules = {
        torch.optim.SGD: "L2",
        torch.optim.Adam: "L2",
        torch.optim.RMSprop: "L2",
        torch.optim.AdamW: "decoupled",
    }
    for kind, rule in rules.items():
        optimizer = kind([weight], lr=0.1, weight_decay=0.01)
        assert decay_from_group(optimizer, optimizer.param_groups[0]).rule == rule
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9, weight_decay=0.01, maximize=True)
    decay = decay_from_group(optimizer, optimizer.param_groups[0])
    assert (decay.sign, round(decay.budget(10.0), 9)) == (-1.0, 1.0)
    dampened = torch.optim.SGD([weight], lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01)
    assert decay_from_group(dampened, dampened.param_groups[0]).budget(10.0) == pytest.approx(0.5)
    if hasattr(torch.optim, "Muon"):  # from torch 2.9 on
        decoupled = torch.optim.Muon([weight], lr=0.1, momentum=0.9, weight_decay=0.01)
        assert decay_from_group(decoupled, decoupled.param_groups[0]).budget(10.0) == pytest.approx(0.1)
    adaptive = torch.optim.Adam([weight], lr=0.1, weight_decay=0.01)
    assert math.isnan(decay_from_group(adaptive, adaptive.param_groups[0]).budget(10.0))
    model = network(4, 6, 3)
    groups = [{"params": model[0].parameters(), "weight_decay": 0.2}, {"params": model[2].parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    found = probes.probe(model, data(), nn.MSELoss(), optimizer=optimizer)
    assert [layer.weight_decay for layer in found.layers] == [0.2, 0.0]


def test_results_as_table_figure_page_and_file(tmp_path):
    found = probes.probe(network(4, 6, 3), data(), nn.MSELoss(), 0.1, keep_matrices=True)
    table = found.table()
    assert list(table.columns[3:7]) == ["FACT", "√FACT·FACTᵀ", "√AGOP", "√eNFA"]
    page = report.render([found.record("a network")], papers={})
    assert "<svg" in page
    assert page.count("<tr") == 1 + 2 * len(found.layers), "numbers, and the evidence below them"
    assert "a network" in page
    assert ProbeRecord.from_json(found.record().to_json()).layers[0].alignments.keys() == set(table.columns[3:7])
    plots.save(found.figure_data(), tmp_path / "a.png")
    again = probes.ProbeResult.load(found.save(tmp_path / "probe.safetensors"))
    np.testing.assert_array_equal(again["0.weight"].matrices["FACT"], found["0.weight"].matrices["FACT"])
    assert again.table().equals(table)
    with pytest.raises(ValueError, match="is not a whole probe file"):
        probes.ProbeResult.load(tmp_path / "a.png")
    with pytest.raises(KeyError, match=r"no layer 'x'; there are \['0.weight'"):
        found["x"]


def test_importing_probes_needs_neither_torch_nor_jax():
    code = """
import sys
sys.modules["torch"] = None
from firstlight import probes
assert "jax" not in sys.modules
try:
    probes.FeatureProbe
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'firstlight[torch]'" in done.stdout
    code = "import sys; from firstlight import probes; probes.FeatureProbe; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_options_that_callers_pass_on_are_the_keywords_of_the_probe():
    keywords = {
        name: parameter.annotation
        for name, parameter in inspect.signature(probes.FeatureProbe).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "optimizer"
    }
    assert ProbeOptions.__annotations__ == keywords
