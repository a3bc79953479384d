"""What learns: two-layer and deep perceptrons as Equinox modules, their activations and initialisations.

>>> import jax
>>> from firstlight.models import TwoLayer
>>> TwoLayer.init(jax.random.key(0), inputs=4, width=5, outputs=3, activation="quadratic")
TwoLayer(W=f32[4,5], V=f32[5,3], activation=Activation(name='quadratic'))
"""

from firstlight.models.activation import Activation, activation, leaky_relu, poly, power
from firstlight.models.attention import LinearAttention
from firstlight.models.deep import Deep
from firstlight.models.diagonal import Diagonal
from firstlight.models.initialisation import INITS, draw
from firstlight.models.parameters import export_parameters, import_parameters, parameter_names
from firstlight.models.projection import Projection, project
from firstlight.models.two_layer import TwoLayer

__all__ = [
    "INITS",
    "Activation",
    "Deep",
    "Diagonal",
    "LinearAttention",
    "Projection",
    "TwoLayer",
    "activation",
    "draw",
    "export_parameters",
    "import_parameters",
    "leaky_relu",
    "parameter_names",
    "poly",
    "power",
    "project",
]
