"""Progress measures against an independent implementation: waves for cyclic groups, characters for the others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from firstlight import features, flow, groups, models, runs, tasks
from firstlight.records import spec_from_mapping
from firstlight.theories import progress
from tests.tolerances import rounding

CROSS_ENTROPY = flow.Loss(kind="cross_entropy", projection="none")


def random_logits(M, seed=0):
    return np.random.default_rng(seed).normal(size=(M, M, M))


def cross_entropy(logits, targets):
    shifted = logits - logits.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_p, targets[..., None], -1)[..., 0]


def waves(p, frequencies):
    """Return the orthonormal waves cos ω_k(a+b), sin ω_k(a+b) on pairs, as Nanda et al. write them."""
    sums = np.add.outer(np.arange(p), np.arange(p))
    found = []
    for k in frequencies:
        for wave in (np.cos, np.sin):
            w = wave(2 * np.pi * k * sums / p)
            found.append(w / np.linalg.norm(w))
    return np.stack(found)


class Nanda:
    """The published measures for modular addition, from logits (p, p, p)."""

    def __init__(self, logits, frequencies):
        self.p, self.L, self.k = len(logits), logits, frequencies
        self.basis = waves(self.p, frequencies)

    def _parts(self):
        coefficients = np.einsum("wab,abc->wc", self.basis, self.L)
        return np.einsum("wab,wc->abc", self.basis, coefficients)

    def restricted(self):
        constant = self.L.mean((0, 1))
        return constant + self._parts()

    def excluded(self):
        return self.L - self._parts()

    def formula(self):
        """Least squares on cos ω_k(a + b − c), after removing the mean over c."""
        a, b, c = np.indices(self.L.shape)
        X = np.stack([np.cos(2 * np.pi * k * (a + b - c) / self.p).ravel() for k in self.k], 1)
        y = (self.L - self.L.mean(-1, keepdims=True)).ravel()
        alpha, *_ = np.linalg.lstsq(X, y, rcond=None)
        return alpha, 1 - np.sum((y - X @ alpha) ** 2) / np.sum(y**2)


@pytest.mark.parametrize(("p", "frequencies"), [(11, (2, 5)), (8, (1, 3)), (13, (4,))])
def test_restricted_excluded_and_formula_are_those_of_nanda(p, frequencies):
    group, L = groups.cyclic(p), random_logits(p)
    labels = [c.label for c in group.real_components()]
    keys = np.isin(labels, [f"±{k}" for k in frequencies])
    ours, close = Nanda(L, frequencies), rounding(np.abs(L).max(), p * p)
    np.testing.assert_allclose(features.restricted_logits(L, group, keys), ours.restricted(), rtol=0, atol=close)
    np.testing.assert_allclose(features.excluded_logits(L, group, keys), ours.excluded(), rtol=0, atol=close)
    alpha, fit = ours.formula()
    formula = features.logit_formula(L, group, keys)
    np.testing.assert_allclose(formula.coefficients[keys], alpha, rtol=0, atol=close)
    assert abs(float(formula.fit) - fit) <= close


def character_projection(group, place):
    """Return the projection on the functions f(g) of a component, from characters: (d/M) Σ χ(gh⁻¹) f(h)."""
    quotient = group.table[:, group.inverse]
    total = np.zeros((group.order, group.order), complex)
    for i in group.real_components()[place].irreps:
        rho = group.irreps()[i]
        total += rho.dim / group.order * rho.character[quotient]
    return np.real(total)


@pytest.mark.parametrize("name", ["S3", "Q8", "A4", "F21", "D5", "Z2xZ4", "SL(2,3)"])
def test_every_group_is_split_by_its_characters(name):
    group = groups.parse(name)
    M, C = group.order, len(group.real_components())
    L = random_logits(M)
    pairs = [[np.flatnonzero(group.table[a] == g) for a in range(M)] for g in range(M)]
    mean = np.array([np.mean([L[a, pairs[g][a][0]] for a in range(M)], axis=0) for g in range(M)])
    close = rounding(np.abs(L).max(), M * M)
    np.testing.assert_allclose(features.product_mean(L, group), mean, rtol=0, atol=close)
    shares = features.product_shares(L, group)
    centred = L - L.mean(-1, keepdims=True)
    centred = centred - centred.mean((0, 1))
    for place in range(1, C):
        P = character_projection(group, place)
        keys = np.eye(C, dtype=bool)[place]
        part = (P @ mean)[group.table]
        np.testing.assert_allclose(features.excluded_logits(L, group, keys), L - part, rtol=0, atol=close)
        restricted = part + L.mean((0, 1))
        np.testing.assert_allclose(features.restricted_logits(L, group, keys), restricted, rtol=0, atol=close)
        aligned = (part - part.mean(-1, keepdims=True)) ** 2
        assert abs(shares[place] - aligned.sum() / (centred**2).sum()) <= close
        character = np.real(group.irreps()[group.real_components()[place].irreps[0]].character)
        chi = character[group.table[group.table][:, :, group.inverse]]
        y = L - L.mean(-1, keepdims=True)
        alpha = np.sum(y * chi) / np.sum(chi**2)
        formula = features.logit_formula(L, group, keys)
        assert abs(formula.coefficients[place] - alpha) <= close
        assert abs(float(formula.fit) - (1 - np.sum((y - alpha * chi) ** 2) / np.sum(y**2))) <= close


@pytest.mark.parametrize("name", ["Z7", "S3", "Q8", "A4", "F21", "Z2xZ4"])
def test_orbit_shares_are_those_of_averaged_inner_products(name):
    group = groups.parse(name)
    M = group.order
    W = np.random.default_rng(1).normal(size=(M, 3))
    shares = features.orbit_shares(W, group)
    g = np.arange(M)
    for place, component in enumerate(group.real_components()):
        part = component.basis @ component.basis.T @ W
        K = part @ part.T
        left = np.mean([K[np.ix_(group.table[x], group.table[x])] for x in g], axis=0)
        right = np.mean([K[np.ix_(group.table[:, x], group.table[:, x])] for x in g], axis=0)
        expected = max(np.sum(left**2), np.sum(right**2)) / np.sum(K**2)
        assert abs(shares[place] - expected) <= rounding(1.0, M * M)


def test_a_faithful_orbit_has_share_one_and_each_component_is_judged_alone():
    group = groups.parse("S4")
    rho = group.irreps()[-1]
    v = np.random.default_rng(0).normal(size=(rho.dim, 1))
    orbit = np.real(rho.matrices @ v)[:, :, 0]
    shares = features.orbit_shares(orbit, group)
    place = next(i for i, c in enumerate(group.real_components()) if rho.index in c.irreps)
    assert abs(shares[place] - 1) <= rounding(1.0, group.order)
    assert np.abs(np.delete(shares, place)).max() == 0


@pytest.mark.parametrize("name", ["Z11", "S3", "A4"])
def test_gini_is_that_of_the_sorted_norms(name):
    """The Gini coefficient from the Lorenz curve of the norms, each repeated for every dimension of its irrep."""
    group = groups.parse(name)
    W = np.random.default_rng(2).normal(size=(2 * group.order, 5)) ** 3
    norms = []
    for component in group.real_components()[1:]:
        P = component.basis @ component.basis.T
        total = sum(np.sum((P @ half) ** 2) for half in (W[: group.order], W[group.order :]))
        norms += [np.sqrt(total / component.size)] * component.size
    x = np.sort(norms)
    n = len(x)
    lorenz = np.sum((2 * np.arange(1, n + 1) - n - 1) * x) / (n * x.sum())
    assert abs(float(features.irrep_gini(W, group)) - lorenz) <= rounding(1.0, n)


def test_numpy_jax_and_torch_agree():
    torch = pytest.importorskip("torch")
    group, L = groups.parse("A4"), random_logits(12)
    keys = np.array([False, True, True])
    W = np.random.default_rng(0).normal(size=(12, 4))
    for make in (jnp.asarray, torch.tensor):
        with jax.enable_x64(True):
            converted = make(L)
            for ours, theirs in (
                (features.restricted_logits(converted, group, keys), features.restricted_logits(L, group, keys)),
                (features.logit_formula(converted, group, keys).fit, features.logit_formula(L, group, keys).fit),
                (features.product_shares(converted, group), features.product_shares(L, group)),
                (features.irrep_gini(make(W), group), features.irrep_gini(W, group)),
                (features.orbit_shares(make(W), group), features.orbit_shares(W, group)),
            ):
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=rounding(5.0, 144))


def trained(name, fraction, fields, steps):
    """A network trained with snapshots, and its split."""
    spec = spec_from_mapping(
        {
            "preset": "nanda",
            "task": {"group": name, "split": {"fraction": fraction}},
            "model": fields,
            "steps": steps,
            "recording": {"every": steps},
            "lenses": ["progress"],
        }
    )
    resolved = runs.resolve(spec)
    run = flow.train(
        resolved.model,
        resolved.split,
        loss=spec.loss,
        optimizer=spec.optimizer,
        steps=steps,
        recording=spec.recording,
        observables=resolved.observables,
        progress="off",
    )
    return run.lanes[0], resolved.split


def test_measures_of_a_trained_transformer_agree_with_an_independent_computation():
    """Logits by torch, waves by NumPy: no code of this package touches the numbers that are compared."""
    torch = pytest.importorskip("torch")
    from tests.models.test_tokens import torch_transformer

    p, frequencies = 11, (1, 3)
    lane, split = trained(f"Z{p}", 0.5, {"width": 16, "heads": 2, "mlp": 32}, 200)
    weights = {name: torch.tensor(np.asarray(getattr(lane.model, name), float)) for name in WEIGHTS}
    tokens = np.stack(np.meshgrid(np.arange(p), np.arange(p), indexing="ij"), -1).reshape(-1, 2)
    tokens = np.concatenate([tokens, np.full((p * p, 1), p)], 1)
    L = torch_transformer(weights, torch.as_tensor(tokens), 2, torch.relu).numpy().reshape(p, p, p)
    theirs = Nanda(L, frequencies)
    targets = np.add.outer(np.arange(p), np.arange(p)) % p
    trained_pairs = np.zeros(p * p, bool)
    trained_pairs[split.train] = True
    ours = progress.measure(lane.model, split, keys=[f"±{k}" for k in frequencies])
    assert abs(ours.restricted_loss - cross_entropy(theirs.restricted(), targets).mean()) < 1e-4
    excluded = cross_entropy(theirs.excluded(), targets).ravel()[trained_pairs].mean()
    assert abs(ours.excluded_loss - excluded) < 1e-4 * max(1, excluded)
    assert abs(ours.formula_fit - theirs.formula()[1]) < 1e-4
    # The lens, in float32 and from the run's own outputs, sees the same network.
    own = progress.measure(lane.model, split)
    for name in ("restricted_loss", "excluded_loss", "formula_fit", "gini_embedding", "gini_output"):
        seen, expected = float(lane.rows[-1][f"progress.{name}"]), getattr(own, name)
        assert abs(seen - expected) < 1e-4 * max(1.0, abs(expected)), name


WEIGHTS = ("W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_U", "W_in", "W_out", "b_in", "b_out")


def test_a_perfect_table_has_full_shares_and_a_memorised_one_has_none():
    group = groups.parse("D5")
    perfect = np.eye(10)[group.table]
    shares = features.product_shares(perfect, group)
    sizes = np.array([c.size for c in group.real_components()])
    np.testing.assert_allclose(shares[1:], sizes[1:] / 9, rtol=0, atol=rounding(1.0, 100))
    assert features.key_components(shares, group).tolist() == [False] + [True] * (len(sizes) - 1)
    rng = np.random.default_rng(0)
    held_out = rng.random((10, 10)) < 0.6
    memorised = np.where(held_out[..., None], rng.normal(size=(10, 10, 10)), 20 * perfect)
    shares = features.product_shares(memorised, group, held_out.astype(float))
    assert shares.sum() < 0.5
    # On all pairs the training pairs alone would look like a circuit.
    assert features.product_shares(memorised, group).sum() > shares.sum()


def test_the_excluded_loss_is_taken_on_the_training_pairs_and_in_the_convention_of_the_loss():
    task = tasks.group_task("S3")
    split = task.split(fraction=0.4)
    model = models.TwoLayer.for_task(task, jax.random.key(0), width=16)
    keys = ["[2,1]"]
    L = np.asarray(progress.logit_table(model, split)[0], float)
    chosen = np.array([c.label in keys for c in task.group.real_components()])
    excluded = features.excluded_logits(L, task.group, chosen).reshape(36, 6)[split.train]
    for projection in ("outputs", "samples", "none"):
        for reduction in ("mean", "sum"):
            loss = flow.Loss(projection=projection, reduction=reduction, factor=0.5)
            residual = excluded - np.eye(6)[np.asarray(split.train_targets)]
            if projection != "none":
                residual = residual - residual.mean(0 if projection == "samples" else 1, keepdims=True)
            expected = 0.5 * np.sum(residual**2) / (len(split.train) if reduction == "mean" else 1)
            measured = progress.measure(model, split, loss, keys).excluded_loss
            assert abs(measured - expected) < 1e-5 * max(1.0, expected)


def test_summed_inputs_fill_both_halves_of_the_table():
    task = tasks.group_task("Z5", encoding="summed")
    model = models.TwoLayer.for_task(task, jax.random.key(0), width=8)
    L, _ = progress.logit_table(model, task.split(fraction=0.5))
    np.testing.assert_array_equal(L, np.swapaxes(L, 0, 1))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (tasks.sparse_parity(6, 2, 20).split(fraction=0.5), "a group task of two factors"),
        (tasks.group_task("Z3", factors=3).split(fraction=0.5), "a group task of two factors"),
        (tasks.group_task("Z3", encoding="template", template=[1.0, 2, 0]).split(fraction=0.5), "classes as targets"),
        (tasks.group_task("S3", encoding="summed").split(fraction=0.5), "do not determine the product"),
    ],
)
def test_tasks_without_a_table_of_products_are_refused(split, message):
    model = models.TwoLayer.init(jax.random.key(0), split.task.inputs.dim, 4, split.task.outputs)
    with pytest.raises(ValueError, match=message):
        progress.measure(model, split)


def test_unknown_irreps_and_tables_of_the_wrong_shape_are_named():
    split = tasks.group_task("Z5").split(fraction=0.5)
    model = models.TwoLayer.for_task(split.task, jax.random.key(0), width=8)
    with pytest.raises(ValueError, match=r"unknown irrep '±9'.*±1, ±2"):
        progress.measure(model, split, keys=["±9"])
    with pytest.raises(ValueError, match=r"must have shape \(5, 5, 5\).*got \(4, 4, 4\)"):
        features.product_mean(np.zeros((4, 4, 4)), groups.cyclic(5))
    with pytest.raises(ValueError, match="multiple of 5 rows"):
        features.orbit_shares(np.zeros((3, 5)), groups.cyclic(5))


def test_measures_do_not_depend_on_the_names_of_the_elements():
    """A user's own Cayley table: the same group with its elements in another order, not known by any name."""
    random = np.random.default_rng(0)
    group = groups.parse("D5")
    order = random.permutation(10)
    place = np.argsort(order)
    renamed = groups.from_table(place[group.table[np.ix_(order, order)]])
    L = random_logits(10)
    W = random.normal(size=(10, 3))
    moved = L[np.ix_(order, order, order)]
    close = rounding(np.abs(L).max(), 100)
    for one, other in (
        (features.product_shares(L, group), features.product_shares(moved, renamed)),
        (features.orbit_shares(W, group), features.orbit_shares(W[order], renamed)),
        (features.component_norms(W, group), features.component_norms(W[order], renamed)),
    ):
        np.testing.assert_allclose(np.sort(one), np.sort(other), rtol=0, atol=close)
    task = tasks.group_task(renamed)
    net = models.Transformer.for_task(task, jax.random.key(0), width=8, heads=2, mlp=8)
    assert progress.measure(net, task.split(fraction=0.5)).shares.shape == (4,)
