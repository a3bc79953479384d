"""Networks as Equinox modules, with their activations and initialisations.

Every model offers `first` (the weights that see the input), `last` (the weights that make the output),
`features(inputs)` (the activations of the last hidden layer), `named_parameters()` and `for_task(task, ...)`.

>>> import jax
>>> from firstlight.models import TwoLayer
>>> TwoLayer.init(jax.random.key(0), inputs=4, width=5, outputs=3, activation="quadratic")
TwoLayer(W=f32[4,5], V=f32[5,3], activation=Activation(name='quadratic'))
"""

from firstlight.models._activation import Activation, activation, leaky_relu, poly, power
from firstlight.models._attention import LinearAttention
from firstlight.models._deep import Deep
from firstlight.models._diagonal import Diagonal
from firstlight.models._embedding import EmbeddingMLP
from firstlight.models._initialisation import INITS, draw_weights
from firstlight.models._model import HiddenUnits, Model, TaskSizes
from firstlight.models._parameters import export_parameters, import_parameters, named_parameters
from firstlight.models._projection import Projection, preactivations
from firstlight.models._tokens import TokenTask
from firstlight.models._transformer import Attention, Transformer
from firstlight.models._two_layer import TwoLayer

__all__ = [
    "INITS",
    "Activation",
    "Attention",
    "Deep",
    "Diagonal",
    "EmbeddingMLP",
    "HiddenUnits",
    "LinearAttention",
    "Model",
    "Projection",
    "TaskSizes",
    "TokenTask",
    "Transformer",
    "TwoLayer",
    "activation",
    "draw_weights",
    "export_parameters",
    "import_parameters",
    "leaky_relu",
    "named_parameters",
    "poly",
    "power",
    "preactivations",
]
