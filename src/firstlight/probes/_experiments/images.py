"""Images for perceptrons: digits of scikit-learn, MNIST and CIFAR-10."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Images:
    """Inputs (n, d) in float32 and their classes."""

    name: str
    X: Float[np.ndarray, "n d"]
    labels: Int[np.ndarray, " n"]

    def first(self, n: int, seed: int = 0) -> "Images":
        """Draw n rows without replacement; all rows in their order if there are no more than n."""
        if n >= len(self.X):
            return self
        rows = np.random.default_rng(seed).permutation(len(self.X))[:n]
        return Images(self.name, self.X[rows], self.labels[rows])

    def standardised(self) -> "Images":
        """Scale pixels to mean 0 and variance 1 over the whole data set."""
        mean, deviation = self.X.mean(dtype=np.float64), self.X.std(dtype=np.float64)
        return Images(self.name, ((self.X - np.float32(mean)) / np.float32(deviation)), self.labels)


def digits() -> Images:
    """Load scikit-learn's 1797 images of 8×8 pixels, scaled to [0, 1]."""
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    return Images("digits", (np.asarray(X) / 16).astype(np.float32), np.asarray(labels).astype(np.int64))


def mnist(folder: Path) -> Images:
    """Load the 60,000 training images of `<folder>/mnist/mnist.npz`, scaled to [0, 1]."""
    return _training_images("MNIST", folder / "mnist" / "mnist.npz")


def cifar10(folder: Path) -> Images:
    """Load the 50,000 training images of `<folder>/cifar10/cifar10.npz`, scaled to [0, 1]."""
    return _training_images("CIFAR-10", folder / "cifar10" / "cifar10.npz")


def _training_images(name: str, path: Path) -> Images:
    with np.load(path, allow_pickle=False) as file:
        X, labels = file["X_train"], file["y_train"]
    return Images(name, X.reshape(len(X), -1).astype(np.float32) / 255, labels.astype(np.int64))
