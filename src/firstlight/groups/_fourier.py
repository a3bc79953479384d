"""The Fourier transform of a finite group, its inverse, and convolution."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Complex, Shaped

from firstlight.groups._group import Group, functions_on

Blocks = tuple[Complex[np.ndarray, "..."], ...]


def fourier(group: Group, f: Shaped[np.ndarray, "*batch M"]) -> Blocks:
    """Return f̂(ρ) = Σ_g f(g) ρ(g)* for every irrep ρ, in the order of `group.irreps()`.

    On a cyclic group this is `np.fft.fft`, and for any Abelian group it is computed by FFT. With this
    convention Σ_g |f(g)|² = (1/M) Σ_ρ d_ρ ‖f̂(ρ)‖² (Plancherel) and (a ∗ b)^(ρ) = b̂(ρ) â(ρ).

    **Arguments:**

    - `group`: of order M.
    - `f`: (…, M) functions on the group.

    **Returns:**

    One (…, d, d) array per irrep.

    >>> import numpy as np
    >>> from firstlight.groups import symmetric
    >>> [block.shape for block in fourier(symmetric(3), np.ones((7, 6)))]
    [(7, 1, 1), (7, 1, 1), (7, 2, 2)]
    """
    f = functions_on(group, f)
    if group.is_abelian:
        spectrum = _fft(group, f)[..., _frequencies(group)]
        return tuple(spectrum[..., i, None, None] for i in range(group.order))
    blocks = []
    for rho in group.irreps():
        entries = rho.matrices.conj().swapaxes(-1, -2).reshape(group.order, -1)
        blocks.append((f @ entries).reshape(*f.shape[:-1], rho.dim, rho.dim))
    return tuple(blocks)


def inverse_fourier(group: Group, fhat: Sequence[Shaped[np.ndarray, "..."]]) -> Complex[np.ndarray, "*batch M"]:
    """Return f(g) = (1/M) Σ_ρ d_ρ tr(f̂(ρ) ρ(g)), the inverse of `fourier`.

    **Arguments:**

    - `group`: of order M.
    - `fhat`: one (…, d, d) array per irrep, in the order of `group.irreps()`.

    >>> import numpy as np
    >>> from firstlight.groups import quaternion
    >>> f = np.arange(8.0)
    >>> np.allclose(inverse_fourier(quaternion(), fourier(quaternion(), f)), f)
    True
    """
    irreps = group.irreps()
    shapes = [np.shape(block)[-2:] for block in fhat]
    wanted = [(rho.dim, rho.dim) for rho in irreps]
    if shapes != wanted:
        raise ValueError(
            f"a Fourier transform on {group.name} is one block per irrep, of shapes {wanted}, got {shapes}; "
            "pass the result of fourier(group, f)"
        )
    if group.is_abelian:
        spectrum = np.stack([np.asarray(block)[..., 0, 0] for block in fhat], axis=-1)
        unsorted = np.empty_like(spectrum)
        unsorted[..., _frequencies(group)] = spectrum
        return _ifft(group, unsorted)
    result = np.zeros((), dtype=complex)
    for rho, block in zip(irreps, fhat, strict=True):
        entries = rho.matrices.swapaxes(-1, -2).reshape(group.order, -1)
        flat = np.reshape(block, (*np.shape(block)[:-2], rho.dim**2))
        result = result + (rho.dim / group.order) * (flat @ entries.T)
    return result


def convolve(
    group: Group, a: Shaped[np.ndarray, "*a M"], b: Shaped[np.ndarray, "*b M"]
) -> Shaped[np.ndarray, "*batch M"]:
    """Return (a ∗ b)(h) = Σ_g a(g) b(g⁻¹h), for functions in the last axis; leading axes broadcast.

    Computed by FFT for an Abelian group, else by products of Fourier blocks: at most O(M²) for a pair.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> convolve(cyclic(3), np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0])).round(12)
    array([3., 1., 2.])
    """
    a, b = functions_on(group, a), functions_on(group, b)
    if group.is_abelian:
        result = _ifft(group, _fft(group, a) * _fft(group, b))
    else:
        pairs = zip(fourier(group, a), fourier(group, b), strict=True)
        result = inverse_fourier(group, [b_hat @ a_hat for a_hat, b_hat in pairs])
    return result if np.iscomplexobj(a) or np.iscomplexobj(b) else np.real(result)


def _fft(group: Group, f: np.ndarray) -> np.ndarray:
    grid = f[..., group.abelian_elements].reshape(*f.shape[:-1], *group.abelian_moduli)
    axes = tuple(range(f.ndim - 1, grid.ndim))
    return np.fft.fftn(grid, axes=axes).reshape(f.shape)


def _ifft(group: Group, spectrum: np.ndarray) -> np.ndarray:
    grid = spectrum.reshape(*spectrum.shape[:-1], *group.abelian_moduli)
    axes = tuple(range(spectrum.ndim - 1, grid.ndim))
    f = np.empty_like(spectrum)
    f[..., group.abelian_elements] = np.fft.ifftn(grid, axes=axes).reshape(spectrum.shape)
    return f


def _frequencies(group: Group) -> np.ndarray:
    """Return the C-order frequency of each irrep of an Abelian group; k_j/n_j is its angle at the j-th generator."""
    moduli = np.array(group.abelian_moduli)
    units = np.minimum(np.eye(len(moduli), dtype=int), moduli - 1)
    generators = group.abelian_elements[np.ravel_multi_index(tuple(units), group.abelian_moduli)]
    values = np.array([rho.character[generators] for rho in group.irreps()])
    k = np.rint(np.angle(values) / (2 * np.pi) * moduli).astype(int) % moduli
    return np.asarray(np.ravel_multi_index(tuple(k.T), group.abelian_moduli))
