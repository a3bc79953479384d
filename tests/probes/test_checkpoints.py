"""A folder of checkpoints: order, formats, digests, distances, adapters, resuming."""

import json
import math

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from firstlight import probes
from firstlight.probes._checkpoints import _microscope
from firstlight.probes._checkpoints._find import find, ordered, step_of
from firstlight.probes._checkpoints._lora import adapt, plain_name, updates
from firstlight.probes._checkpoints._story import courses
from firstlight.records import ProbeRecord, Store
from tests.tolerances import rounding

LAMBDA = 0.1


def network():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def states(count):
    """Weights that move in one direction, by unequal steps."""
    model, direction = network(), network()
    made = []
    for i in range(count):
        made.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        for p, d in zip(model.parameters(), direction.parameters(), strict=True):
            p.data.add_(d.data, alpha=0.3 + 0.1 * i)
    return made


@pytest.fixture
def data():
    return [(torch.randn(16, 4), torch.randn(16, 3)) for _ in range(3)]


@pytest.fixture
def series(tmp_path):
    made = states(5)
    for step, state in zip((0, 2, 10, 100, 200), made, strict=True):
        save_file(state, tmp_path / f"step_{step}.safetensors")
    return tmp_path, made


def look(folder, data, **options):
    return probes.probe_checkpoints(folder, network, data, nn.MSELoss(), LAMBDA, **options)


def test_every_number_is_that_of_the_checkpoint_alone(series, data):
    folder, made = series
    history = look(folder, data)
    assert history.steps == (0, 2, 10, 100, 200)
    table = history.table().set_index(["step", "layer"])
    for i, (step, state) in enumerate(zip(history.steps, made, strict=True)):
        model = network()
        model.load_state_dict(state)
        alone = probes.probe(model, data, nn.MSELoss(), LAMBDA)
        for layer in alone.layers:
            row, W = table.loc[step, layer.name], state[layer.name].double()
            for measure in ("FACT", "√AGOP", "√eNFA"):
                assert row[measure] == layer.alignments[measure]
            values = torch.linalg.svdvals(W) ** 2
            # Six singular values of a matrix in single precision, whose squares are summed twice.
            close = rounding(1.0, W.numel(), dtype=np.float32)
            assert row["effective rank"] == pytest.approx(float(values.sum() ** 2 / (values**2).sum()), rel=close)
            assert row["leading share"] == pytest.approx(float(values.max() / values.sum()), rel=close)
            start, before = made[0][layer.name].double(), made[max(i - 1, 0)][layer.name].double()
            assert row["moved"] == pytest.approx(float((W - start).norm() / start.norm()), rel=1e-12)
            if i:
                assert row["since previous"] == pytest.approx(float((W - before).norm() / before.norm()), rel=1e-12)
    assert set(table.loc[0]["verdict"]) == {"lazy"}
    assert set(table.loc[200]["verdict"]) == {"learning"}


def test_names_give_the_order_of_training(tmp_path):
    names = ["step-10k.pt", "step-900.pt", "step-1000.pt", "init.pt", "best.pt", "notes.txt", "optimizer.pt"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    series, left_out = ordered(find(tmp_path)[0])
    assert [c.name for c in series] == ["init.pt", "step-900.pt", "step-1000.pt", "step-10k.pt"]
    assert list(left_out) == ["best.pt"]
    assert step_of("pythia-70m-step512") == (512, "step")
    (tmp_path / "epoch_3.pt").write_bytes(b"")
    with pytest.raises(ValueError, match=r"counts steps and epoch_3.pt counts epochs: give a list"):
        ordered(find(tmp_path)[0])
    with pytest.raises(ValueError, match="there is no folder"):
        find(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no checkpoint"):
        find(tmp_path / "empty")
    with pytest.raises(ValueError, match="must not be empty"):
        find([])
    listed, is_list = find([tmp_path / "best.pt", tmp_path / "init.pt"])
    assert is_list
    assert [(c.name, c.step, c.clock) for c in listed] == [("best.pt", 0, "position"), ("init.pt", 1, "position")]


def test_every_way_in_which_trainers_save_weights_is_read_alike(tmp_path, data):
    made = states(6)
    save_file(made[0], tmp_path / "checkpoint-1.safetensors")
    torch.save(made[1], tmp_path / "checkpoint-2.pt")
    lightning = {f"net.{name}": tensor for name, tensor in made[2].items()}
    torch.save({"state_dict": lightning, "global_step": 3, "epoch": 0}, tmp_path / "last.ckpt")
    torch.save({"model": {f"module.{k}": t for k, t in made[3].items()}, "step": 9}, tmp_path / "checkpoint-4.pth")
    folder = tmp_path / "checkpoint-5"
    folder.mkdir()
    parts = [dict(list(made[4].items())[i::2]) for i in range(2)]
    for i, part in enumerate(parts, start=1):
        save_file(part, folder / f"model-0000{i}-of-00002.safetensors")
    torch.save({"state": {}}, folder / "optimizer.pt")
    folder = tmp_path / "final"
    folder.mkdir()
    save_file({f"_orig_mod.{name}": tensor for name, tensor in made[5].items()}, folder / "model.safetensors")
    (folder / "trainer_state.json").write_text('{"global_step": 6}')
    history = look(tmp_path, data)
    assert history.steps == (1, 2, 3, 4, 5, 6)
    assert not history.left_out
    for moment, state in zip(history.moments, made, strict=True):
        model = network()
        model.load_state_dict(state)
        assert moment.result.table().equals(
            probes.probe(
                model, data, nn.MSELoss(), LAMBDA, known={"moved": {}, "since": ""}
            ).table().assign(verdict=moment.result.table()["verdict"], evidence=moment.result.table()["evidence"])
        )  # fmt: skip


def test_a_planted_duplicate_is_named_and_does_not_spoil_its_neighbours(series, data):
    folder, made = series
    save_file(made[4], folder / "step_2.safetensors")
    history = look(folder, data)
    assert history.duplicates == {"step_200.safetensors": "step_2.safetensors"}
    assert history.damaged
    (sentence,) = [s for s in history.story() if "exactly the same weights" in s]
    assert "step_200.safetensors and step_2.safetensors" in sentence
    assert sentence.endswith("step_2.safetensors is probably the wrong file.")
    clean = look([folder / f"step_{s}.safetensors" for s in (0, 10, 100)], data)
    for name in ("step_10.safetensors", "step_100.safetensors"):
        own, other = (next(m for m in h.moments if m.name == name) for h in (history, clean))
        assert own.since_previous == other.since_previous
        assert own.result.table()["verdict"].equals(other.result.table()["verdict"])
    (folder / "last.safetensors").write_bytes((folder / "step_100.safetensors").read_bytes())
    copy = look([folder / "step_100.safetensors", folder / "last.safetensors"], data)
    assert "nothing was trained between them" in copy.story()[1]


class Payload:
    """An object whose loading would run code."""

    def __reduce__(self):
        return (print, ("executed",))


def test_files_that_hold_code_or_are_cut_off_are_left_out(series, data, capsys):
    folder, made = series
    torch.save({"state_dict": made[0], "extra": Payload()}, folder / "step_300.pt")
    whole = (folder / "step_200.safetensors").read_bytes()
    (folder / "step_400.safetensors").write_bytes(whole[: len(whole) // 2])
    (folder / "step_500.pt").write_bytes(b"nothing")
    torch.save({"losses": [1, 2]}, folder / "step_600.pt")
    history = look(folder, data)
    assert "executed" not in capsys.readouterr().out
    assert history.steps == (0, 2, 10, 100, 200)
    reasons = [history.left_out[name] for name in sorted(history.left_out)]
    expected = ("holds Python objects", "no whole safetensors", "no whole file", "must hold a state dict")
    assert all(words in reason for words, reason in zip(expected, reasons, strict=True)), reasons
    assert sum("was left out" in sentence for sentence in history.story()) == 4


def test_a_checkpoint_of_another_model_is_refused_with_the_names(series, data):
    folder, made = series
    for change, words in (
        (lambda s: s.pop("2.weight"), "it lacks 2.weight"),
        (lambda s: s.update({"4.weight": torch.zeros(2, 2)}), "has the weights 4.weight, which the model lacks"),
        (lambda s: s.update({"2.weight": torch.zeros(3, 7)}), r"2.weight of shape \(3, 7\), the model has \(3, 6\)"),
    ):
        state = dict(made[0])
        change(state)
        save_file(state, folder / "other.safetensors")
        with pytest.raises(ValueError, match=words):
            look([folder / "other.safetensors"], data)


def test_arguments_that_cannot_work_are_refused(series, data):
    folder, _ = series
    with pytest.raises(ValueError, match="got an iterator, which ends after the first"):
        look(folder, iter(data))
    with pytest.raises(ValueError, match="has no argument 'criterion'; besides its own it takes reduction"):
        look(folder, data, criterion=nn.MSELoss())
    with pytest.raises(ValueError, match="these count positions; name the files by their steps"):
        look([folder / "step_2.safetensors", folder / "step_0.safetensors"], data, learning_rate=0.1)
    with pytest.raises(ValueError, match=r"make_model must return a torch\.nn\.Module, got int"):
        probes.probe_checkpoints(folder, lambda: 3, data, nn.MSELoss(), LAMBDA)


def test_a_single_checkpoint_a_frozen_model_and_adam(series, data):
    folder, _ = series
    alone = look([folder / "step_0.safetensors"], data)
    assert alone.story()[0] == "1 checkpoint from step 0, 2 layers, each probed on 48 samples."
    assert len(alone.record().figures) == 4

    def frozen():
        return network().requires_grad_(False)

    with pytest.raises(ValueError, match="every parameter is frozen"):
        probes.probe_checkpoints(folder, frozen, data, nn.MSELoss(), LAMBDA)
    # Adam scales an L2 decay for each weight, so it has no budget and no mean gradient along checkpoints.
    adam = lambda model: torch.optim.Adam(model.parameters(), weight_decay=0.1)  # noqa: E731
    history = probes.probe_checkpoints(
        folder, network, data, nn.MSELoss(), make_optimizer=adam, learning_rate=1e-3, work=folder / "work"
    )
    assert all(math.isnan(layer.averaged) for layer in history.moments[-1].result.layers)


def test_a_tied_weight_that_was_saved_once_is_enough(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(self.embed(tokens).cumsum(1).tanh())

    save_file({"embed.weight": Tied().embed.weight.detach()}, tmp_path / "step1.safetensors")
    tokens = torch.randint(0, 5, (4, 3))
    loss = lambda made, y: nn.functional.cross_entropy(made.flatten(0, 1), y.flatten())  # noqa: E731
    assert probes.probe_checkpoints(tmp_path, Tied, [(tokens, tokens)], loss, LAMBDA).layers == ("embed.weight",)


def test_a_second_call_continues_where_the_first_stopped(series, data, tmp_path, monkeypatch):
    folder, _ = series
    whole = look(folder, data)
    calls = []

    def counted(*arguments, **options):
        calls.append(1)
        return probes.probe(*arguments, **options)

    def stop(fraction, note):
        if note == "step_100.safetensors":
            raise KeyboardInterrupt

    monkeypatch.setattr(_microscope, "probe", counted)
    work = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        look(folder, data, work=work, progress=stop)
    assert len(calls) == 3
    seen = []
    resumed = look(folder, data, work=work, progress=lambda fraction, note: seen.append(fraction))
    assert len(calls) == 5
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert resumed.table().equals(whole.table())
    next(iter(work.iterdir())).write_bytes(b"damaged")
    assert look(folder, data, work=work).table().equals(whole.table())
    assert len(calls) == 6
    # Another loss, decay or data set is another result.
    probes.probe_checkpoints(folder, network, data, nn.L1Loss(), LAMBDA, work=work)
    probes.probe_checkpoints(folder, network, data, nn.MSELoss(), 2 * LAMBDA, work=work)
    look(folder, [(x + 1, y) for x, y in data], work=work)
    assert len(calls) == 21
    # A checkpoint that comes later leaves the earlier ones as they were.
    save_file(states(1)[0], folder / "step_300.safetensors")
    look(folder, data, work=work)
    assert len(calls) == 22


def test_the_start_decides_what_distances_mean(series, data):
    folder, made = series
    later = [folder / f"step_{s}.safetensors" for s in (10, 100, 200)]
    unknown = look(later, data)
    evidence = unknown.table().set_index(["step", "layer"]).loc[:, "evidence"]
    assert "may be its initialisation" in evidence[10, "0.weight"]
    assert "since step 10" in evidence[200, "0.weight"]
    for start in (made[0], folder / "step_0.safetensors"):
        known = look(later, data, start=start)
        assert known.moments[-1].result["0.weight"].moved == pytest.approx(
            float((made[4]["0.weight"] - made[0]["0.weight"]).norm() / made[0]["0.weight"].norm())
        )
        assert "since" not in known.moments[-1].result["0.weight"].verdict.evidence


def test_noise_between_checkpoints_is_not_learning(tmp_path):
    """Weights that jump about one point go to and fro: two successive moves have a cosine of −1/2 ± 0.02."""
    model = nn.Linear(40, 60)
    data = [(torch.randn(16, 40), torch.randn(16, 60))]
    save_file(model.state_dict(), tmp_path / "step_0.safetensors")
    for step in range(1, 8):
        noisy = {"weight": 2 * model.weight.detach(), "bias": model.bias.detach()}
        noisy["weight"] = noisy["weight"] + 0.05 * torch.randn(60, 40)
        save_file(noisy, tmp_path / f"step_{step}.safetensors")
    history = probes.probe_checkpoints(tmp_path, lambda: nn.Linear(40, 60), data, nn.MSELoss(), LAMBDA)
    late = history.table().query("step > 2")
    assert set(late["verdict"]) == {"undecided"}
    assert late["evidence"].str.contains("go to and fro").all()


def trained(folder, optimizer_of, rate, steps, every):
    torch.manual_seed(1)
    x = torch.randn(256, 5)
    y = (x[:, :1] * x[:, 1:2]).tanh() + x[:, 2:3]
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optimizer_of(model)
    for step in range(steps + 1):
        if step % every == 0:
            save_file(model.state_dict(), folder / f"step_{step}.safetensors")
        part = torch.randint(0, 256, (32,))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[part]), y[part]).backward()
        optimizer.step()
    return probes.probe_checkpoints(
        folder,
        lambda: nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1)),
        [(x, y)],
        nn.MSELoss(),
        make_optimizer=optimizer_of,
        learning_rate=rate,
    )


def test_a_known_learning_rate_averages_the_noise_of_minibatches_out(tmp_path):
    sgd = lambda model: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-2)  # noqa: E731
    history = trained(tmp_path, sgd, lambda step: 0.1, 3000, 500)
    last = history.moments[-1].result
    assert {layer.verdict.state for layer in last.layers} == {"converged"}
    assert "averaged over the last" in last["0.weight"].verdict.evidence
    assert last["0.weight"].budget == pytest.approx(1e-2 * 0.1 * 3000 / 0.1)


def test_adamw_is_judged_from_checkpoints_and_learning_rate_alone(tmp_path):
    """No optimizer state is saved; the mean step direction follows from the weights of four checkpoints."""
    adamw = lambda model: torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.3)  # noqa: E731
    history = trained(tmp_path, adamw, 3e-3, 4000, 400)
    last = history.moments[-1].result["0.weight"]
    assert last.rule == "decoupled"
    assert last.verdict.state == "converged"
    assert last.alignments["FACT"] > 0.98
    first = history.moments[1].result["0.weight"]
    assert "no Adam state" in first.verdict.evidence
    assert math.isnan(first.alignments["FACT"])


def adapter(scale=1.0, rank=2):
    """A and B of both linear layers of `network`, named as peft names them."""
    tensors = {}
    for place, inputs, outputs in (("0", 4, 6), ("2", 6, 3)):
        tensors[f"base_model.model.{place}.lora_A.weight"] = torch.randn(rank, inputs)
        tensors[f"base_model.model.{place}.lora_B.weight"] = scale * torch.randn(outputs, rank)
    return tensors


@pytest.mark.parametrize("rslora", [False, True])
def test_adapters_are_read_as_low_rank_updates_of_a_frozen_base(tmp_path, data, rslora):
    torch.manual_seed(3)
    base = network().state_dict()
    made = [adapter(scale) for scale in (0.0, 0.5, 1.0)]
    for step, tensors in enumerate(made):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        save_file(tensors, folder / "adapter_model.safetensors")
        (folder / "adapter_config.json").write_text(json.dumps({"lora_alpha": 6, "r": 2, "use_rslora": rslora}))

    def make_model():
        model = network()
        model.load_state_dict(base)
        return model

    history = probes.probe_checkpoints(tmp_path, make_model, data, nn.MSELoss(), LAMBDA, keep_matrices=True)
    assert history.layers == ("0.lora_A.weight", "0.lora_B.weight", "2.lora_A.weight", "2.lora_B.weight")
    assert set(history.untreated) == {"0.base_layer.weight", "2.base_layer.weight"}
    assert all(reason.startswith("frozen") for reason in history.untreated.values())
    scale = 6 / (math.sqrt(2) if rslora else 2)
    A, B = (made[2][f"base_model.model.0.lora_{m}.weight"].double().requires_grad_() for m in "AB")
    # The whole weight W₀ + s·BA written out, and its gradient in A and B.
    x, y = (torch.cat(parts).double() for parts in zip(*data, strict=True))
    W0, W1 = (base[f"{i}.weight"].double() for i in (0, 2))
    A1, B1 = (made[2][f"base_model.model.2.lora_{m}.weight"].double() for m in "AB")
    hidden = torch.relu(x @ (W0 + scale * B @ A).T + base["0.bias"].double())
    out = hidden @ (W1 + scale * B1 @ A1).T + base["2.bias"].double()
    gradients = torch.autograd.grad(nn.functional.mse_loss(out, y), [A, B])
    for W, G, name in ((A, gradients[0], "0.lora_A.weight"), (B, gradients[1], "0.lora_B.weight")):
        expected = -(W.T @ G).detach().numpy() / LAMBDA
        actual = history.moments[2].result[name].matrices["FACT"]
        assert np.abs(actual - expected).max() < rounding(np.abs(expected).max(), 1000, dtype=np.float32)
    update = history.moments[2].updates[0]
    values = torch.linalg.svdvals((B @ A).detach())
    assert (update.name, update.rank) == ("0", 2)
    assert update.size == pytest.approx(scale * float(values.norm() / W0.norm()), rel=1e-6)
    assert update.effective_rank == pytest.approx(float((values**2).sum() ** 2 / (values**4).sum()), rel=1e-6)
    assert history.moments[0].updates[0].size == 0
    assert any("LoRA adapters on a frozen base: 2 modules of rank 2" in sentence for sentence in history.story())
    assert "its weights are zero" in history.moments[0].result["0.lora_B.weight"].verdict.evidence


def test_adapters_that_cannot_be_read_say_so():
    assert plain_name("base_model.model.head.modules_to_save.default.bias") == "head.bias"
    with pytest.raises(ValueError, match=r"needs lora_alpha.*adapter_config.json"):
        adapt(network(), adapter(), {})
    with pytest.raises(ValueError, match="lora_magnitude_vector, which only the library peft applies"):
        adapt(network(), adapter() | {"base_model.model.0.lora_magnitude_vector": torch.ones(6)}, {"lora_alpha": 1})
    with pytest.raises(ValueError, match="for 9, which the model of make_model lacks"):
        adapt(network(), {"9.lora_A.weight": torch.ones(1, 4)}, {"lora_alpha": 1})
    with pytest.raises(ValueError, match="a ReLU; linear modules"):
        adapt(network(), {"1.lora_A.weight": torch.ones(1, 4)}, {"lora_alpha": 1})
    scaled = adapt(network(), adapter(), {"lora_alpha": 4, "alpha_pattern": {"0": 8}})
    assert [scaled[i].scale for i in (0, 2)] == [4.0, 2.0]
    assert [update.name for update in updates(scaled)] == ["0", "2"]


def test_a_history_is_a_record_that_stores_and_pages_take(series, data, tmp_path):
    folder, made = series
    save_file(made[4], folder / "step_2.safetensors")
    history = look(folder, data)
    record = history.record("my run")
    assert ProbeRecord.from_json(record.to_json()) == record
    assert [c.step for c in record.checkpoints] == list(history.steps)
    assert record.courses[0].moved == history.table().query("layer == '0.weight'")["moved"].tolist()
    assert [f.kind for f in record.figures] == ["heatmap"] * 4
    assert record.figures[0].arrays["matrix"].shape == (2, 5)
    with Store(tmp_path / "store.sqlite", mode="rw") as store:
        store.put_probe(record)
        assert store.probes() == [record]
    text = str(history)
    assert "5 checkpoints from steps 0 to 200, 2 layers, each probed on 48 samples." in text
    assert "learning" in text


def test_records_written_before_keep_their_digest():
    """The fields for checkpoints count only if they are filled."""
    record = ProbeRecord(name="a", samples=3, created="2026-01-01", versions={}, machine={})
    assert not set(record._hashed()) & ProbeRecord.ADDED_FIELDS
    filled = record.model_copy(update={"story": ("x",)})
    assert filled.id != record.id
    assert filled.digest != record.digest


def test_the_story_tells_when_a_layer_left_convergence():
    runs = courses([(0, "converged"), (1, "learning"), (2, "learning")])
    assert runs == [("converged", 0, 0), ("learning", 1, 2)]
