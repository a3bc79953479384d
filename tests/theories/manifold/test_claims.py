"""The checks of the zero-loss manifold measure something false and must refuse it."""

from math import pi, sqrt

import numpy as np
import pytest

from firstlight.claims import Setting, verdict
from firstlight.claims.manifold.checks import section_7, stability
from firstlight.claims.manifold.checks._networks import tanh_network
from firstlight.theories import manifold


def status(check, setting=None):
    return verdict(check.judge(check.measure(setting or Setting(seeds=(0,))).data))


def test_a_gradient_with_a_tangential_part_fails(monkeypatch):
    right = manifold.ZeroLossSet.gradient

    def tilted(self, theta):
        g = right(self, theta)
        return g + 0.01 * np.linalg.norm(g) * np.ones_like(g) / len(g) ** 0.5

    assert status(stability.orthogonality) == "holds"
    monkeypatch.setattr(manifold.ZeroLossSet, "gradient", tilted)
    assert status(stability.orthogonality) == "fails"


def test_a_tangent_that_leaves_the_zero_loss_set_at_first_order_fails(monkeypatch):
    right = manifold.distance
    # A part 1e-3 of the step across the set adds a distance of first order.
    monkeypatch.setattr(
        manifold,
        "distance",
        lambda zero_set, theta: (
            right(zero_set, theta) + 1e-3 * np.linalg.norm(theta - manifold.project(zero_set, tanh_network(0)[1]).theta)
        ),
    )
    assert status(stability.tangent_space) == "fails"


@pytest.fixture(scope="module")
def run():
    return section_7._run("quick", 0)


def rebuilt(E, change):
    """The embedding with its Fourier features F (11, K) changed."""
    F = np.fft.fft(E, axis=0)
    F[1:12] = change(F[1:12])
    F[12:] = F[11:0:-1].conj()
    return np.fft.ifft(F, axis=0).real


@pytest.mark.parametrize(
    "spoil",
    [
        lambda first, last: first,
        lambda first, last: last @ np.linalg.qr(np.random.default_rng(0).standard_normal((256, 256)))[0],
        lambda first, last: rebuilt(last, lambda F: F + 0.2 * np.roll(F, 1, axis=0)),
        lambda first, last: rebuilt(last, lambda F: F * np.linspace(0.95, 1.05, 11)[:, None]),
        lambda first, last: rebuilt(last, lambda F: F.real + 0.9j * F.imag),
    ],
    ids=["nothing learned", "units shared", "planes tilted", "sizes unequal", "ellipses"],
)
def test_one_seed_that_is_not_as_the_caption_says_fails_figure_4(run, spoil):
    setting, ends = Setting(), (run.snapshots[0], run.W)
    curves = section_7._curves(setting, {0: run, 1: run})
    spoiled = section_7.panels({0: ends, 1: (ends[0], spoil(*ends))})
    assert verdict(section_7.circles.judge(curves | spoiled)) == "fails"
    assert verdict(section_7.circles.judge(curves | section_7.panels({0: ends, 1: ends}))) == "holds"


def test_steps_are_counted_until_accuracy_leaves_guessing_for_good_and_until_every_row_is_right():
    data = {
        "p": 10,
        "test rows": 100,
        "steps": [0, 10, 20, 30, 40],
        # Guessing reaches 0.1 + 4·0.03 = 0.22.
        "test accuracy": [[0.1, 0.5, 0.2, 0.5, 1.0], [0.1, 0.1, 0.3, 0.994, 0.996], [0.1, 0.1, 0.1, 0.1, 0.22]],
    }
    assert section_7._guessing(data) == pytest.approx(0.22)
    assert section_7._leaves(data).tolist() == [30, 20, np.inf]
    assert section_7._perfect(data).tolist() == [40, 40, np.inf]


def test_random_embeddings_have_the_measures_of_independent_normal_entries():
    """Norms of K normals deviate by 1/√2K, |cos| of two has mean √(2/πK), |x| and |y| have cosine (E|x|)²/E x²."""
    K = 128
    measured = manifold.measure_embedding(np.random.default_rng(0).standard_normal((401, K)))
    cosine = sqrt(2 / (pi * K))
    for name, expected, rel in (
        ("log_ratio", cosine, 0.15),
        ("spread", 1 / sqrt(4 * K), 0.15),
        ("cosine", cosine, 0.02),
        ("same", 2 / pi, 0.02),
        ("other", 2 / pi, 0.02),
    ):
        assert getattr(measured, name) == pytest.approx(expected, rel=rel), name
    assert 1 - measured.aspect == pytest.approx(sqrt(pi / (2 * K)), rel=0.15)
