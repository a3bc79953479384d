"""The transformer and the embedding MLP against independent implementations in torch, weights copied across."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import flow, models, tasks
from firstlight.models import EmbeddingMLP, Transformer
from tests.tolerances import rounding

torch = pytest.importorskip("torch")

CROSS_ENTROPY = flow.Loss(kind="cross_entropy", projection="none")


def torch_transformer(weights, tokens, heads, sigma):
    """Logits of all positions under a causal mask, then the last: a row at a time would read as the paper does."""
    w = weights
    read = w["W_Q"].shape[1]
    n, T = tokens.shape
    e = read // heads
    x = w["W_E"][tokens] + w["W_pos"]
    q, k, v = ((x @ w[name]).view(n, T, heads, e).transpose(1, 2) for name in ("W_Q", "W_K", "W_V"))
    z = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + z.transpose(1, 2).reshape(n, T, read) @ w["W_O"]
    if "W_in" in w:
        hidden = sigma(x @ w["W_in"] + w.get("b_in", 0.0))
        x = x + hidden @ w["W_out"] + w.get("b_out", 0.0)
    return (x @ w["W_U"])[:, -1]


def torch_embedding(weights, tokens, combine, sigma):
    w, M = weights, weights["V"].shape[1]
    tied = len(w["W_E"]) == M
    parts = [w["W_E"][tokens[:, j] + (0 if tied else j * M)] for j in range(tokens.shape[1])]
    x = sum(parts) if combine == "sum" else torch.cat(parts, dim=1)
    return sigma(x @ w["W_in"] + w.get("b", 0.0)) @ w["V"] + w.get("c", 0.0)


def elements(task):
    rows = np.asarray(task.inputs.rows)
    return rows - task.outputs * np.arange(rows.shape[1])


def with_end(task):
    tokens = elements(task)
    return np.concatenate([tokens, np.full((len(tokens), 1), task.outputs)], axis=1)


def randomised(model):
    """Biases start at zero; random ones show that they are used."""
    rng = np.random.default_rng(1)

    def moved(leaf):
        noise = 0.3 * rng.normal(size=leaf.shape)
        return jnp.asarray(np.asarray(leaf) + noise, leaf.dtype) if leaf.ndim == 1 else leaf

    return jax.tree.map(moved, model)


SIGMAS = {"relu": torch.relu, "silu": torch.nn.functional.silu, "quadratic": torch.square, "tanh": torch.tanh}
TRANSFORMERS = {
    "Nanda's form on Z7": ("Z7", 2, {"width": 16, "heads": 4, "mlp": 24}),
    "one head on S3": ("S3", 2, {"width": 12, "heads": 1, "mlp": 20, "activation": "silu", "bias": False}),
    "attention alone on Q8": ("Q8", 2, {"width": 8, "heads": 2, "mlp": 0}),
    "three factors of Z4": ("Z4", 3, {"width": 6, "heads": 3, "mlp": 10, "activation": "quadratic"}),
}
EMBEDDINGS = {
    "concatenation on S3": ("S3", {"width": 20, "embedding": 7, "bias": True}),
    "untied concatenation on S3": ("S3", {"width": 20, "embedding": 7, "tied": False, "activation": "tanh"}),
    "sum on Z7": ("Z7", {"width": 20, "embedding": 7, "combine": "sum"}),
    "untied sum on S3": ("S3", {"width": 300, "embedding": 5, "combine": "sum", "tied": False, "bias": True}),
}


def case(name):
    """Return the task, the network, its counterpart in torch and the tokens that it reads."""
    if name in TRANSFORMERS:
        group, factors, fields = TRANSFORMERS[name]
        task = tasks.group_task(group, factors=factors)
        model = randomised(Transformer.for_task(task, jax.random.key(0), **fields))
        sigma = SIGMAS[fields.get("activation", "relu")]
        reference = functools.partial(torch_transformer, heads=fields["heads"], sigma=sigma)
        return task, model, reference, with_end(task)
    group, fields = EMBEDDINGS[name]
    task = tasks.group_task(group)
    model = randomised(EmbeddingMLP.for_task(task, jax.random.key(0), **fields))
    sigma = SIGMAS[fields.get("activation", "relu")]
    reference = functools.partial(torch_embedding, combine=fields.get("combine", "concat"), sigma=sigma)
    return task, model, reference, elements(task)


def torch_weights(model):
    arrays = models.export_parameters(model)
    return {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}


def computed(model, task, dtype):
    """Return the outputs computed in three ways, and the loss with its gradient, as one compiled program."""
    X = jnp.asarray(task.inputs.dense(), dtype)

    @eqx.filter_jit
    def program(model):
        outputs = flow.outputs(model, task.inputs), model.apply(task.inputs.project), model(X)
        return outputs, flow.value_and_grad(model, task.inputs, task.targets, CROSS_ENTROPY)

    return program(model)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*TRANSFORMERS, *EMBEDDINGS])
def test_outputs_and_gradients_agree_with_torch(name, dtype):
    with jax.enable_x64(dtype == "float64"):
        task, model, reference, tokens = case(name)
        weights = torch_weights(model)
        assert {str(w.dtype) for w in weights.values()} == {f"torch.{dtype}"}
        expected = reference(weights, torch.as_tensor(tokens))
        loss = torch.nn.functional.cross_entropy(expected, torch.as_tensor(np.array(task.targets)).long())
        loss.backward()
        expected = expected.detach().numpy()
        size = max(1.0, float(np.abs(expected).max()))
        # Each of the seven products in a row adds its own error to the numbers that follow.
        error = rounding(7 * size, max(max(w.shape) for w in weights.values()), dtype)
        outputs, (value, gradients) = computed(model, task, dtype)
        for ours in outputs:
            np.testing.assert_allclose(ours, expected, rtol=0, atol=error)
        assert abs(float(value) - loss.item()) <= error
        for key, gradient in models.named_parameters(gradients).items():
            wanted = weights[key].grad.numpy()
            np.testing.assert_allclose(gradient, wanted, rtol=0, atol=error, err_msg=key)
            assert np.abs(wanted).max() > 8 * error, f"the test of {key} is empty"


def test_the_attention_pattern_is_that_of_torch():
    task = tasks.group_task("S3")
    with jax.enable_x64(True):
        model = Transformer.for_task(task, jax.random.key(3), width=8, heads=2, mlp=0, scale=3.0)
        w = {name: torch.tensor(array) for name, array in models.export_parameters(model).items()}
        A = np.asarray(model.attention(task.inputs.project).pattern)
    x = w["W_E"][torch.as_tensor(with_end(task))] + w["W_pos"]
    q, k = ((x @ w[name]).view(36, 3, 2, 4) for name in ("W_Q", "W_K"))
    scores = torch.einsum("nhe,njhe->njh", q[:, -1], k) / 2.0
    np.testing.assert_allclose(A, torch.softmax(scores, dim=1), rtol=0, atol=rounding(1.0, 8))
    np.testing.assert_allclose(A.sum(1), 1.0, rtol=0, atol=rounding(1.0, 3))


def test_training_follows_torch_for_fifty_steps():
    task = tasks.group_task("Z7")
    split = task.split(fraction=0.7)
    tokens = torch.as_tensor(with_end(task)[split.train])
    y = torch.as_tensor(np.array(split.train_targets)).long()
    optimizer = flow.Optimizer(name="adamw", learning_rate=1e-3, weight_decay=1.0, beta2=0.98)
    with jax.enable_x64(True):
        model = Transformer.for_task(task, jax.random.key(0), width=16, heads=4, mlp=24, activation="silu")
    weights = torch_weights(model)
    theirs = torch.optim.AdamW(list(weights.values()), lr=1e-3, weight_decay=1.0, betas=(0.9, 0.98), eps=1e-8)
    for _ in range(50):
        theirs.zero_grad()
        outputs = torch_transformer(weights, tokens, 4, torch.nn.functional.silu)
        torch.nn.functional.cross_entropy(outputs, y).backward()
        theirs.step()
    ours = flow.train(model, split, loss=CROSS_ENTROPY, optimizer=optimizer, steps=50, dtype="float64", progress="off")
    for name, expected in weights.items():
        # Adam divides by the root of a gradient that may be near zero, which magnifies its rounding error.
        array = getattr(ours.lanes[0].model, name)
        np.testing.assert_allclose(array, expected.detach().numpy(), rtol=0, atol=1e-7, err_msg=name)


def test_the_query_of_the_last_token_alone_decides_so_attention_ignores_other_queries():
    """Shifting W_Q along directions orthogonal to the last token changes nothing."""
    task = tasks.group_task("Z5")
    with jax.enable_x64(True):
        model = Transformer.for_task(task, jax.random.key(0), width=8, heads=2, mlp=12)
        end = model.W_E[-1] + model.W_pos[-1]
        away = jnp.eye(8) - jnp.outer(end, end) / (end @ end)
        shift = away @ jax.random.normal(jax.random.key(1), (8, 8))
        moved = type(model)(**{**models.named_parameters(model), "W_Q": model.W_Q + shift, "heads": 2})
        a, b = (np.asarray(flow.outputs(m, task.inputs)) for m in (model, moved))
    np.testing.assert_allclose(a, b, rtol=0, atol=rounding(np.abs(a).max(), 64))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda t, k: Transformer.for_task(t, k, width=10, heads=4),
            r"divisible by heads.*width=10.*heads=4; use heads=",
        ),
        (lambda t, k: Transformer.for_task(t, k, heads=0), "heads must be an integer > 0, got 0"),
        (lambda t, k: Transformer.for_task(t, k, mlp=-1), "mlp must be an integer > 0, got -1"),
        (lambda t, k: Transformer.init(k, inputs=7, outputs=5), "multiple of outputs, 5"),
        (lambda t, k: Transformer.init(k, inputs=5, outputs=5), "at least two, got 5"),
        (lambda t, k: EmbeddingMLP.for_task(t, k, combine="add"), "'sum' or 'concat', got 'add'"),
        (lambda t, k: EmbeddingMLP.init(k, inputs=7, outputs=5), "multiple of outputs, 5"),
        (lambda t, k: EmbeddingMLP.for_task(t, k, embedding=0), "embedding must be an integer > 0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make(tasks.group_task("Z5"), jax.random.key(0))


def test_tasks_without_tokens_are_refused():
    for task in (tasks.sparse_parity(6, 2, 20), tasks.group_task("Z3", encoding="template", template=[1.0, 0, 2])):
        for make in (Transformer.for_task, EmbeddingMLP.for_task):
            with pytest.raises(ValueError, match="group task in onehot"):
                make(task, jax.random.key(0))


def test_weights_of_the_wrong_shape_are_named():
    model = Transformer.init(jax.random.key(0), 10, 5, width=8, heads=2, mlp=12)
    arrays = models.named_parameters(model)
    with pytest.raises(ValueError, match=r"W_out must have shape \(12, 8\), got \(8, 12\)"):
        Transformer(**{**arrays, "W_out": arrays["W_out"].T, "heads": 2})
    with pytest.raises(ValueError, match="give both or neither"):
        Transformer(**{**arrays, "W_in": None, "heads": 2})
    with pytest.raises(ValueError, match="for each of 3 heads, got 8 columns"):
        Transformer(**arrays, heads=3)


def test_a_sum_of_tied_embeddings_does_not_see_the_order_of_factors():
    task = tasks.group_task("S3")
    model = EmbeddingMLP.for_task(task, jax.random.key(0), width=9, embedding=4, combine="sum")
    Y = np.asarray(flow.outputs(model, task.inputs)).reshape(6, 6, 6)
    np.testing.assert_array_equal(Y, Y.transpose(1, 0, 2))


def test_summed_inputs_give_the_same_network_as_tied_sums():
    key, fields = jax.random.key(0), {"width": 9, "embedding": 4, "combine": "sum"}
    pairs, summed = tasks.group_task("Z5"), tasks.group_task("Z5", encoding="summed")
    a = EmbeddingMLP.for_task(pairs, key, **fields)
    b = EmbeddingMLP.for_task(summed, key, **fields)
    Y = np.asarray(flow.outputs(a, pairs.inputs)).reshape(5, 5, 5)
    rows = np.asarray(summed.inputs.rows)
    close = rounding(np.abs(Y).max(), 9, np.float32)
    np.testing.assert_allclose(flow.outputs(b, summed.inputs), Y[rows[:, 0], rows[:, 1]], rtol=0, atol=close)


def test_a_transformer_learns_a_group_that_is_not_abelian():
    task = tasks.group_task("S3")
    run = flow.train(
        functools.partial(Transformer.for_task, task, width=32, heads=4, mlp=64),
        task.split(fraction=0.8),
        loss=CROSS_ENTROPY,
        optimizer=flow.Optimizer(name="adamw", weight_decay=1.0, beta2=0.98),
        steps=150,
        progress="off",
    )
    assert run.frame["train_accuracy"].iloc[-1] == 1.0


def test_an_embedding_mlp_trains_on_the_full_table_by_gram_matrices():
    task = tasks.group_task("Z5")
    fields = {"width": 12, "embedding": 4, "combine": "sum", "tied": False, "activation": "quadratic"}
    with jax.enable_x64(True):
        model = EmbeddingMLP.for_task(task, jax.random.key(0), **fields)
    options = {"steps": 3, "dtype": "float64", "progress": "off"}
    gram, dense = (flow.train(model, task.split(fraction=1.0), method=m, **options) for m in ("gram", "dense"))
    for name in ("W_E", "W_in", "V"):
        a, b = (getattr(run.lanes[0].model, name) for run in (gram, dense))
        # Adam divides by the root of the squared gradient, so a rounding error of the gradient stays relative to 1e-3.
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_a_checkpoint_of_other_heads_is_refused(tmp_path):
    task = tasks.group_task("Z5")
    split = task.split(fraction=0.6)
    a = Transformer.for_task(task, jax.random.key(0), width=8, heads=2, mlp=4)
    b = Transformer(**{**models.named_parameters(a), "heads": 4})
    flow.train(a, split, steps=2, checkpoint=tmp_path, progress="off")
    with pytest.raises(flow.CheckpointError):
        flow.train(b, split, steps=4, checkpoint=tmp_path, resume=True, progress="off")
