"""Tasks from the user's folder of small images."""

import os
from pathlib import Path

import numpy as np
from jaxtyping import Float, Num

from firstlight import _canonical as canonical
from firstlight.tasks._inputs import DenseInputs
from firstlight.tasks._task import Task


def grey_images(path: str | os.PathLike[str], count: int | None = None, whiten: bool = True) -> Task:
    """Return labelled images (CIFAR-10, for example) as grey, centred and whitened rows.

    The targets are one-hot labels minus their mean.

    **Arguments:**

    - `path`: an `.npz` file with `X` (n, height, width, 3) or (n, height, width) and `y` (n,), or a folder
      with such a file.
    - `count`: number of rows to take from the start; None for all.
    - `whiten`: whether to divide by the singular values after centring (AGF, Figure 7).
    """
    file = _find(Path(path))
    with np.load(file, allow_pickle=False) as stored:
        if not {"X", "y"} <= set(stored.files):
            raise ValueError(f"{file} must hold arrays X and y, got {sorted(stored.files)}")
        images, labels = stored["X"][:count], stored["y"][:count]
    X = _grey(images)
    if len(X) != len(labels) or len(X) == 0:
        raise ValueError(f"X and y must have the same number of rows, at least one, got {len(X)} and {len(labels)}")
    X = whitened(X) if whiten else X - X.mean(0)
    classes, index = np.unique(labels, return_inverse=True)
    Y = np.eye(len(classes))[index] - 1 / len(classes)
    return Task(f"grey images of {file.stem}", DenseInputs(X), Y, outputs=len(classes))


def whitened(X: Num[np.ndarray, "n d"]) -> Float[np.ndarray, "n r"]:
    """Return X centred, rotated and scaled so that XᵀX/n = I, with as many columns as its rank.

    >>> X = whitened(np.random.default_rng(0).standard_normal((50, 3)) @ np.diag([1.0, 5.0, 0.1]))
    >>> bool(np.allclose(X.T @ X / 50, np.eye(3)))
    True
    """
    centred = X - X.mean(0)
    U, s, _ = canonical.svd(centred)
    return np.sqrt(len(X)) * U[:, s > 1e-10 * s[0]]


def _grey(images: np.ndarray) -> Float[np.ndarray, "n d"]:
    if images.ndim == 4:
        images = images.astype(float) @ np.array([0.299, 0.587, 0.114]) if images.shape[-1] == 3 else images[..., 0]
    if images.ndim != 3:
        raise ValueError(f"images must have shape (n, height, width) or (n, height, width, 3), got {images.shape}")
    return images.reshape(len(images), -1).astype(float) / 255


def _find(path: Path) -> Path:
    if path.is_file():
        return path
    files = sorted(path.glob("*.npz")) if path.is_dir() else []
    if not files:
        raise FileNotFoundError(f"give an .npz file with X and y, or a folder that holds one; got {path}")
    return files[0]
