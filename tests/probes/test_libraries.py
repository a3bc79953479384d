"""Models of the real libraries against sums written out per sample; run by `make test-integrations`."""

import os

import pytest
import torch
from torch import nn

from firstlight import probes
from tests.probes.brute import WITHIN, matrices, worst

# These libraries take longer to import than most tests to run.
pytestmark = pytest.mark.skipif("FIRSTLIGHT_INTEGRATIONS" not in os.environ, reason="run with make test-integrations")

LAMBDA = 0.1


def compare(model, inputs, targets, loss_fn, only=None):
    """The worst error over all matrices of all layers, with batches of images or pixels."""
    result = probes.probe(model, [(inputs, targets)], loss_fn, LAMBDA, keep_matrices=True, outputs="exact", roots=False)
    expected = matrices(
        model,
        lambda i: (inputs[i : i + 1].double(),),
        len(inputs),
        lambda i, made: loss_fn(made, targets[i : i + 1]),
        lambda made: made,
        LAMBDA,
        only,
    )
    assert {layer.name for layer in result.layers} == set(expected)
    assert not any(layer.withheld for layer in result.layers)
    return worst(result, expected)


@pytest.mark.timeout(1800)
def test_resnet18():
    """All 21 weight matrices of torchvision's ResNet-18, in parts, since the widest has 4608² entries."""
    model = pytest.importorskip("torchvision").models.resnet18(num_classes=10).eval()
    x, y = torch.randn(3, 3, 32, 32), torch.randint(0, 10, (3,))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_var, 0.5, 2)
    names = [name for name, p in model.named_parameters() if p.ndim >= 2]
    assert len(names) == 21
    parts = [[name for name in names if not name.startswith("layer4")]]
    parts += [[name] for name in names if name.startswith("layer4")]
    for part in parts:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in part)
        error = compare(model, x, y, nn.CrossEntropyLoss(), set(part))
        assert error[0] < WITHIN, error


def test_vision_transformer_of_timm():
    timm = pytest.importorskip("timm")
    model = timm.models.vision_transformer.VisionTransformer(
        img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=3, num_classes=5
    ).eval()
    x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))
    error = compare(model, x, y, nn.CrossEntropyLoss())
    assert error[0] < WITHIN, error


def keywords(model, batch, count):
    """The worst error over all matrices of a language model that computes its own loss."""
    result = probes.probe(
        model, [batch], weight_decay=LAMBDA, keep_matrices=True, outputs="exact", roots=False, batch_dim=0
    )
    expected = matrices(
        model,
        lambda i: {key: value[i : i + 1] for key, value in batch.items()},
        count,
        lambda i, made: made.loss,
        lambda made: made.logits,
        LAMBDA,
    )
    assert {layer.name for layer in result.layers} == set(expected)
    assert not any(layer.withheld for layer in result.layers)
    return worst(result, expected), result


def test_gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=13, n_positions=8, n_embd=12, n_layer=2, n_head=3, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    tokens = torch.randint(0, 13, (4, 6))
    error, result = keywords(transformers.GPT2LMHeadModel(config), {"input_ids": tokens, "labels": tokens}, 4)
    assert error[0] < WITHIN, error
    # The embedding is the output layer's weight too.
    assert result["transformer.wte.weight"].kind in ("linear + embedding ×2", "embedding + linear ×2")


def test_bert():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=13, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        max_position_embeddings=8, type_vocab_size=2, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
    )  # fmt: skip
    tokens = torch.randint(1, 13, (4, 6))
    batch = {"input_ids": tokens, "token_type_ids": torch.randint(0, 2, (4, 6)), "labels": tokens}
    error, _ = keywords(transformers.BertForMaskedLM(config), batch, 4)
    assert error[0] < WITHIN, error


def test_adapters_of_peft(tmp_path):
    """An adapter that peft trained and saved, read with and without peft, and what peft merges."""
    peft = pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=13, n_positions=8, n_embd=12, n_layer=1, n_head=3, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    torch.manual_seed(0)
    base = transformers.GPT2LMHeadModel(config)
    weights = {name: tensor.clone() for name, tensor in base.state_dict().items()}

    def make_base():
        model = transformers.GPT2LMHeadModel(config)
        model.load_state_dict(weights)
        return model

    def make_peft():
        lora = peft.LoraConfig(r=2, lora_alpha=6, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)
        return peft.get_peft_model(make_base(), lora)

    model, tokens = make_peft(), torch.randint(0, 13, (8, 6))
    batch = {"input_ids": tokens, "labels": tokens}
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=1.0)
    for step in range(3):
        model.save_pretrained(str(tmp_path / f"checkpoint-{step}"))
        for _ in range(5):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
    results = [
        probes.probe_checkpoints(tmp_path, make, [batch], weight_decay=LAMBDA, batch_dim=0, outputs="exact")
        for make in (make_base, make_peft)
    ]
    own, library = (history.table().set_index("step") for history in results)
    assert own["layer"].tolist() == [
        name.removeprefix("base_model.model.").replace(".default", "") for name in library["layer"]
    ]
    assert len(results[0].layers) == 6
    for column in ("FACT", "√AGOP", "effective rank", "moved"):
        assert torch.allclose(
            torch.tensor(own[column].tolist()), torch.tensor(library[column].tolist()), 1e-4, 1e-5, True
        )
    # What peft adds to the frozen weight, by merging.
    merged = make_peft()
    peft.set_peft_model_state_dict(merged, peft.load_peft_weights(str(tmp_path / "checkpoint-2"), device="cpu"))
    merged = merged.merge_and_unload().state_dict()
    for update in results[0].moments[2].updates:
        W0 = weights[f"{update.name}.weight"]
        change = merged[f"{update.name}.weight"] - W0
        # The difference of two weights in single precision.
        assert update.size == pytest.approx(float(change.norm() / W0.norm()), rel=1e-3)
