"""The transformer and its progress measures against TransformerLens; run by `make test-integrations`."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import flow, models, runs, tasks
from firstlight.records import spec_from_mapping
from firstlight.theories import progress

# TransformerLens takes longer to import than most tests to run.
pytestmark = pytest.mark.skipif("FIRSTLIGHT_INTEGRATIONS" not in os.environ, reason="run with make test-integrations")


def bridged(model: models.Transformer):
    """Return TransformerLens's own transformer with the same weights, in float64."""
    import torch

    pytest.importorskip("transformer_lens")
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge.sources.native import boot

    (d, M), H = model.W_U.shape, model.heads
    config = TransformerBridgeConfig(
        n_layers=1, d_model=d, d_head=model.W_Q.shape[1] // H, n_heads=H, d_mlp=model.W_in.shape[1],
        n_ctx=model.factors + 1, d_vocab=M + 1, d_vocab_out=M, act_fn="relu", normalization_type=None,
    )  # fmt: skip
    net = boot(config, dtype=torch.float64)
    w = {name: torch.tensor(np.array(a, float)) for name, a in models.export_parameters(model).items()}
    # A torch Linear holds (out, in).
    weights = {
        "embed.weight": w["W_E"],
        "pos_embed.weight": w["W_pos"],
        **{f"blocks.0.attn.{name}.weight": w[f"W_{name.upper()}"].T for name in "qkvo"},
        "blocks.0.mlp.in.weight": w["W_in"].T,
        "blocks.0.mlp.in.bias": w["b_in"],
        "blocks.0.mlp.out.weight": w["W_out"].T,
        "blocks.0.mlp.out.bias": w["b_out"],
        "unembed.weight": w["W_U"].T,
    }
    state = net.state_dict()
    assert weights.keys() <= state.keys()
    with torch.no_grad():
        for name, array in state.items():
            array.copy_(weights.get(name, torch.zeros_like(array)))
    return net


def table(net, M: int) -> np.ndarray:
    """Return the logits of the last position for all pairs, (M, M, M)."""
    import torch

    pairs = np.indices((M, M)).reshape(2, -1).T
    tokens = torch.as_tensor(np.concatenate([pairs, np.full((M * M, 1), M)], axis=1))
    with torch.no_grad():
        return net(tokens)[:, -1].numpy().reshape(M, M, M)


def trained(group: str) -> tuple[models.Transformer, tasks.Split]:
    fields = {"preset": "nanda", "task": {"group": group, "split": {"fraction": 0.6}}, "steps": 300}
    resolved = runs.resolve(spec_from_mapping({**fields, "model": {"width": 32, "heads": 4, "mlp": 48}}))
    loss, optimizer = resolved.spec.loss, resolved.spec.optimizer
    run = flow.train(resolved.model, resolved.split, loss=loss, optimizer=optimizer, steps=300, progress="off")
    return jax.tree.map(jnp.asarray, run.lanes[0].model), resolved.split


@pytest.mark.parametrize("group", ["Z13", "S3"])
def test_logits_and_attention_are_those_of_transformer_lens(group):
    model, split = trained(group)
    net = bridged(model)
    with jax.enable_x64(True):
        double = jax.tree.map(lambda a: jnp.asarray(a, float), model)
        ours = np.asarray(progress.logit_table(double, split)[0])
    theirs = table(net, split.task.outputs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())


def test_progress_measures_agree_with_those_of_its_logits():
    from tests.theories.progress.test_measures import Nanda, cross_entropy

    model, split = trained("Z13")
    L = table(bridged(model), 13)
    theirs, keys = Nanda(L, (1, 4)), ("±1", "±4")
    ours = progress.measure(model, split, keys=keys)
    targets = np.add.outer(np.arange(13), np.arange(13)) % 13
    excluded = cross_entropy(theirs.excluded(), targets).ravel()[split.train].mean()
    assert abs(ours.restricted_loss - cross_entropy(theirs.restricted(), targets).mean()) < 1e-4
    assert abs(ours.excluded_loss - excluded) < 1e-4 * max(1.0, excluded)
    assert abs(ours.formula_fit - theirs.formula()[1]) < 1e-4
