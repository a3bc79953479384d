"""The checks of the zero-loss manifold are given something false and must fail."""

import numpy as np
import pytest

from firstlight.claims import Setting
from firstlight.claims.manifold.checks import section_7, stability, training
from firstlight.theories import manifold


def test_a_gradient_with_a_tangential_part_fails(monkeypatch):
    right = manifold.ZeroLossSet.gradient

    def tilted(self, theta):
        g = right(self, theta)
        return g + 0.01 * np.linalg.norm(g) * np.ones_like(g) / len(g) ** 0.5

    assert stability.orthogonality(Setting(seeds=(0,))).status == "holds"
    monkeypatch.setattr(manifold.ZeroLossSet, "gradient", tilted)
    assert stability.orthogonality(Setting(seeds=(0,))).status == "fails"


@pytest.fixture(scope="module")
def run():
    return section_7._run("quick", 0)


def changed(run, last, frame=None):
    return manifold.Simulation(run.frame if frame is None else frame, last, {0: run.snapshots[0], 150: last})


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
def test_one_seed_that_is_not_as_the_caption_says_fails_figure_4(monkeypatch, run, spoil):
    spoiled = changed(run, spoil(run.snapshots[0], run.snapshots[150]))
    monkeypatch.setattr(section_7, "_runs", lambda setting, seeds: {0: run, 1: spoiled})
    assert section_7.circles(Setting()).status == "fails"
    monkeypatch.setattr(section_7, "_runs", lambda setting, seeds: {0: run, 1: run})
    assert section_7.circles(Setting()).status == "holds"


def test_random_embeddings_have_the_measures_they_are_said_to_have():
    E = np.random.default_rng(0).standard_normal((401, 128))
    measured, expected = manifold.measure_embedding(E), section_7.random_measures(128)
    for name, rel in (("log_ratio", 0.15), ("spread", 0.15), ("cosine", 0.02), ("same", 0.02), ("other", 0.02)):
        assert getattr(measured, name) == pytest.approx(getattr(expected, name), rel=rel), name
    assert 1 - measured.aspect == pytest.approx(1 - expected.aspect, rel=0.15)


@pytest.mark.parametrize("shift", [-70, 100])
def test_generalising_at_another_time_fails_section_7(monkeypatch, run, shift):
    frame = run.frame.assign(step=run.frame["step"].where(run.frame["step"] <= 20, run.frame["step"] + shift))
    moved = changed(run, run.snapshots[150], frame)
    monkeypatch.setattr(section_7, "_runs", lambda setting, seeds: {0: moved, 1: moved})
    assert section_7.delayed_generalisation(Setting()).status == "fails"


@pytest.mark.parametrize(("accuracy", "loss"), [(0.9, 0.0), (1.0, 1.0)])
def test_a_small_norm_without_a_fit_is_no_minimum(monkeypatch, accuracy, loss):
    right = training._trained
    monkeypatch.setattr(training, "_trained", lambda *a: (*right(*a)[:2], accuracy, loss))
    assert training.least_norm(Setting(seeds=(0,))).status == "fails"
