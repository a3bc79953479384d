"""Frequencies of a finite Abelian group: their arithmetic, and Fourier transforms of functions on the group."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Complex, Float, Int

from firstlight.groups import Group

Index = int | tuple[int, ...]
"""A frequency: its place 0 … d − 1 in FFT order, or its coordinates (k₁, …, k_r), negative ones included."""


@dataclass(frozen=True, eq=False)
class Frequencies:
    """The dual of Z_{n₁}×…×Z_{n_r}: frequencies k = 0 … d − 1 in FFT (C) order.

    **Attributes:**

    - `moduli`: (n₁, …, n_r).
    - `elements`: the group element at each coordinate (d,).
    - `negative`: the place of −k (d,).
    - `minus`: (d, d) with `minus[m, k]` = m − k.
    - `halves`: one frequency of each pair ±k ≠ 0, in order.
    - `real`: the frequencies k ≠ 0 with −k = k.

    >>> from firstlight.groups import cyclic
    >>> frequencies(cyclic(6)).halves, frequencies(cyclic(6)).real
    ((1, 2, 3), (3,))
    """

    moduli: tuple[int, ...]
    elements: Int[np.ndarray, " d"]
    negative: Int[np.ndarray, " d"]
    minus: Int[np.ndarray, "d d"]
    halves: tuple[int, ...]
    real: tuple[int, ...]

    @property
    def d(self) -> int:
        """The order of the group."""
        return len(self.negative)

    def place(self, k: Index) -> int:
        """Return the place in FFT order of a frequency given by place or by coordinates.

        >>> from firstlight.groups import parse
        >>> frequencies(parse("Z4xZ6")).place((1, -1))
        11
        """
        if isinstance(k, tuple):
            if len(k) != len(self.moduli):
                raise ValueError(f"a frequency of moduli {self.moduli} has {len(self.moduli)} coordinates; got {k}")
            return int(
                np.ravel_multi_index(tuple(int(x) % n for x, n in zip(k, self.moduli, strict=True)), self.moduli)
            )
        if not -self.d < k < self.d:
            raise ValueError(f"a frequency lies between {1 - self.d} and {self.d - 1}; got {k}")
        return int(k) if k >= 0 else int(self.negative[-k])

    def label(self, k: int) -> str:
        """Return a name such as ±2, or ±(1,5) for a product of groups.

        >>> from firstlight.groups import parse
        >>> frequencies(parse("Z4xZ6")).label(11), frequencies(parse("Z6")).label(3)
        ('±(1,5)', '3')
        """
        coordinates = [int(x) for x in np.unravel_index(k, self.moduli)]
        name = str(coordinates[0]) if len(coordinates) == 1 else f"({','.join(map(str, coordinates))})"
        return name if self.negative[k] == k else f"±{name}"

    def transform(self, f: Float[np.ndarray, "d *rest"]) -> Complex[np.ndarray, "d *rest"]:
        """Compute f̂_k = (1/d) Σ_g f(g) conj φ_k(g), so that f = Σ_k f̂_k φ_k; elements in rows."""
        grid = f[self.elements].reshape(*self.moduli, -1)
        axes = tuple(range(len(self.moduli)))
        return np.fft.fftn(grid, axes=axes, norm="forward").reshape(f.shape)

    def synthesise(self, z: Complex[np.ndarray, "d *rest"]) -> Float[np.ndarray, "d *rest"]:
        """Compute the real function Σ_k z_k φ_k of Hermitian coefficients; the inverse of `transform`."""
        axes = tuple(range(len(self.moduli)))
        grid = np.fft.ifftn(z.reshape(*self.moduli, -1), axes=axes, norm="forward").real
        f = np.empty(z.shape)
        f[self.elements] = grid.reshape(z.shape)
        return f


def frequencies(group: Group) -> Frequencies:
    """Return the frequencies of an Abelian group; any other group raises `ValueError`.

    >>> from firstlight.groups import symmetric
    >>> frequencies(symmetric(3))
    Traceback (most recent call last):
    ValueError: frequencies need an Abelian group; S3 is not one. craft_any(group) works for any group
    """
    if not group.is_abelian:
        raise ValueError(
            f"frequencies need an Abelian group; {group.name} is not one. craft_any(group) works for any group"
        )
    return _frequencies(group)


@lru_cache(maxsize=64)
def _frequencies(group: Group) -> Frequencies:
    moduli = group.abelian_moduli
    k = np.indices(moduli).reshape(len(moduli), -1)
    sizes = np.reshape(moduli, (-1, 1))
    negative = np.asarray(np.ravel_multi_index(tuple(-k % sizes), moduli))
    minus = np.asarray(np.ravel_multi_index(tuple((k[:, :, None] - k[:, None, :]) % sizes[..., None]), moduli))
    places = np.arange(group.order)
    halves = places[(places <= negative) & (places > 0)]
    real = places[(places == negative) & (places > 0)]
    return Frequencies(moduli, group.abelian_elements, negative, minus, tuple(halves.tolist()), tuple(real.tolist()))
