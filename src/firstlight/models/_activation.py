"""Activations σ as named values: callable, with derivative, coefficients and homogeneity."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from firstlight._suggest import did_you_mean

Elementwise = Callable[[Array], Array]

MAX_POWER = 100
"""The largest exponent of `power`; single precision overflows well below it."""


@dataclass(frozen=True)
class Activation:
    """An elementwise nonlinearity σ that is safe as a static argument of `jax.jit`.

    Named activations are equal if their names are equal. A wrapped callable is equal only to itself.

    **Attributes:**

    - `name`: the canonical name; `activation(name)` returns an equal activation.
    - `function`: σ, elementwise.
    - `slope`: σ′, elementwise; None differentiates `function`.
    - `polynomial`: coefficients (c₀, c₁, c₂, …) with σ(x) = Σ_i c_i xⁱ, or None when σ is no polynomial.
    - `homogeneity`: q with σ(cx) = c^q σ(x) for every c > 0, or None if σ is not homogeneous, or not known to be.
    - `lowest_power`: q with σ(x) ≈ c x^q near 0 if σ is neither a polynomial nor homogeneous; None if q is not known.
    - `wrapped`: the user's callable, or None for a named activation.

    >>> square = activation("quadratic")
    >>> float(square(3.0)), float(square.derivative(3.0)), square.polynomial
    (9.0, 6.0, (0.0, 0.0, 1.0))
    """

    name: str
    function: Elementwise = field(compare=False, repr=False)
    slope: Elementwise | None = field(default=None, compare=False, repr=False)
    polynomial: tuple[float, ...] | None = field(default=None, compare=False, repr=False)
    homogeneity: int | None = field(default=None, compare=False, repr=False, kw_only=True)
    lowest_power: int | None = field(default=None, compare=False, repr=False, kw_only=True)
    wrapped: Elementwise | None = field(default=None, repr=False)

    def __call__(self, x: ArrayLike) -> Array:
        """Return σ(x), elementwise, for an array of any shape."""
        return self.function(jnp.asarray(x))

    def derivative(self, x: ArrayLike) -> Array:
        """Return σ′(x), elementwise; at the kink of a piecewise linear σ, the slope on the left."""
        x = jnp.asarray(x)
        if self.slope is not None:
            return self.slope(x)
        # The Jacobian of an elementwise map is diagonal, so its product with ones is that diagonal.
        return jax.jvp(self.function, (x,), (jnp.ones_like(x),))[1]

    @property
    def homogeneity_at_zero(self) -> int | None:
        """Return q with σ(x) ≈ c x^q near 0, or None if q is not known, as for a wrapped callable.

        >>> activation("poly(1,0.5)").homogeneity, activation("poly(1,0.5)").homogeneity_at_zero
        (None, 1)
        >>> activation("sigmoid").homogeneity_at_zero, activation(jnp.square).homogeneity_at_zero
        (0, None)
        """
        if self.polynomial is not None:
            return next((i for i, c in enumerate(self.polynomial) if c), None)
        return self.lowest_power if self.homogeneity is None else self.homogeneity

    def __repr__(self) -> str:
        return f"activation({self.name!r})" if self.wrapped is None else f"activation({self.wrapped!r})"


def power(q: int) -> Activation:
    """Return σ(x) = x^q for an integer 1 ≤ q ≤ 100; "linear" and "quadratic" are q = 1 and 2.

    >>> power(3)
    activation('power3')
    """
    if isinstance(q, bool) or not isinstance(q, Integral) or q < 1:
        raise ValueError(f"power<q> needs an integer exponent q of at least 1, got {q!r}; write e.g. 'power3'")
    if q > MAX_POWER:
        raise ValueError(f"power<q> goes up to q = {MAX_POWER}, got {q}; a larger power overflows")
    return Activation(
        {1: "linear", 2: "quadratic"}.get(q, f"power{q}"),
        lambda x: x**q,
        lambda x: q * x ** (q - 1),
        (0.0,) * q + (1.0,),
        homogeneity=int(q),
    )


def poly(a: float, b: float) -> Activation:
    """Return σ(x) = a x + b x², the general quadratic of Li₂ (remark after Theorem 2).

    >>> poly(1.0, 0.5)
    activation('poly(1.0,0.5)')
    """
    a, b = float(a), float(b)
    powers = [q for q, coefficient in ((1, a), (2, b)) if coefficient]
    return Activation(
        f"poly({a},{b})",
        lambda x: a * x + b * x * x,
        lambda x: a + 2 * b * x,
        (0.0, a, b),
        homogeneity=powers[0] if len(powers) == 1 else None,
    )


def leaky_relu(slope: float = 0.01) -> Activation:
    """Return σ(x) = x for x > 0 and slope·x elsewhere; geometry of grokking (Figure 3) takes slope 0.1.

    >>> leaky_relu(0.1)
    activation('leaky_relu(0.1)')
    """
    slope = float(slope)
    return Activation(
        f"leaky_relu({slope})",
        lambda x: jnp.where(x > 0, x, slope * x),
        lambda x: jnp.where(x > 0, 1.0, slope).astype(x.dtype),
        homogeneity=1,
    )


def _silu_slope(x: Array) -> Array:
    s = jax.nn.sigmoid(x)
    return s * (1 + x * (1 - s))


def _sigmoid_slope(x: Array) -> Array:
    # σ(x)σ(−x) stays accurate for large x, where 1 − σ(x) cancels to 0.
    return jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)


def _tanh_slope(x: Array) -> Array:
    return 4 * _sigmoid_slope(2 * x)


_FIXED: dict[str, Activation] = {
    sigma.name: sigma
    for sigma in (
        power(1),
        power(2),
        Activation("relu", jax.nn.relu, lambda x: (x > 0).astype(x.dtype), homogeneity=1),
        Activation("silu", jax.nn.silu, _silu_slope, lowest_power=1),
        Activation("tanh", jnp.tanh, _tanh_slope, lowest_power=1),
        Activation("sigmoid", jax.nn.sigmoid, _sigmoid_slope, lowest_power=0),
    )
}
_FORMS = (*_FIXED, "power<q>", "poly(a,b)", "leaky_relu", "leaky_relu(slope)")


def activation(spec: "str | Elementwise | Activation") -> Activation:
    """Return the activation with a name, or wrap an elementwise callable written with `jax.numpy`.

    **Arguments:**

    - `spec`: "linear", "quadratic", "power3" (any exponent), "poly(a,b)" for ax + bx², "relu", "leaky_relu",
      "leaky_relu(0.1)", "silu", "tanh", "sigmoid"; or a callable; or an `Activation`, returned as is.

    >>> activation("power2") == activation("quadratic")
    True
    >>> import jax.numpy as jnp
    >>> round(float(activation(jnp.sin).derivative(0.0)), 3)
    1.0
    >>> activation("quadratc")
    Traceback (most recent call last):
    ...
    ValueError: unknown activation 'quadratc'; did you mean 'quadratic'? ...
    """
    if isinstance(spec, Activation):
        return spec
    if isinstance(spec, str):
        return _parse(spec)
    if callable(spec):
        return _wrap(spec)
    raise TypeError(f"an activation is a name or an elementwise callable, got {spec!r}; try 'quadratic'")


def _parse(text: str) -> Activation:
    name = text.strip().lower()
    if name in _FIXED:
        return _FIXED[name]
    if match := re.fullmatch(r"power(-?\d+)", name):
        return power(int(match[1]))
    if match := re.fullmatch(r"(poly|leaky_relu)(?:\((.*)\))?", name):
        return _with_numbers(text, *match.groups())
    hint = did_you_mean(name, (*_FIXED, "leaky_relu", "power3", "poly(1,1)"))
    raise ValueError(
        f"unknown activation {text!r}; {hint}Known: {', '.join(_FORMS)}, or a callable written with jax.numpy"
    )


def _with_numbers(text: str, family: str, arguments: str | None) -> Activation:
    make, form, count = (poly, "poly(a,b)", 2) if family == "poly" else (leaky_relu, "leaky_relu(slope)", 1)
    if arguments is None and make is leaky_relu:
        return leaky_relu()
    try:
        numbers = [float(part) for part in (arguments or "").split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        example = "poly(1,0.5)" if make is poly else "leaky_relu(0.1)"
        raise ValueError(f"{form} takes {count} finite number(s), got {text!r}; write e.g. {example!r}")
    return make(*numbers)


def _wrap(function: Elementwise) -> Activation:
    label = getattr(function, "__name__", type(function).__name__)
    probe = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    try:
        hash(function)
    except TypeError as error:
        raise TypeError(f"activation {label!r} must be hashable to be compiled; pass a plain function") from error
    try:
        result = jax.eval_shape(function, probe)
    except Exception as error:
        raise TypeError(
            f"activation {label!r} cannot be traced by JAX ({type(error).__name__}); write it with jax.numpy"
        ) from error
    if getattr(result, "shape", None) != probe.shape:
        raise ValueError(f"activation {label!r} must act elementwise: an array of shape (2, 3) gave {result}")
    return Activation(label, function, wrapped=function)
