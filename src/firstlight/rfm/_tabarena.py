"""An adapter with which TabArena (and AutoGluon) can run the estimators; neither is needed by this package."""

from typing import Any

from firstlight.rfm._classifier import RFMClassifier
from firstlight.rfm._regressor import RFMRegressor

_made: dict[str, type] = {}


def tabarena_model() -> type:
    """Return the AutoGluon model class that fits RFM, as TabArena's experiments take it.

    Parameters of the estimators are its hyperparameters. Gaps and categories reach the estimators as they are.

        from tabarena.utils.config_utils import ConfigGenerator
        generator = ConfigGenerator(model_cls=tabarena_model(), manual_configs=[{}], search_space={})
        experiments = generator.generate_all_bag_experiments(num_random_configs=0)
    """
    if "RFMModel" not in _made:
        try:
            from autogluon.core.models import AbstractModel  # type: ignore[import-not-found]
        except ImportError:
            raise ImportError(
                "the TabArena adapter needs AutoGluon, which was not found; run pip install tabarena, or "
                "pip install autogluon.core"
            ) from None
        members = {name: value for name, value in vars(_Methods).items() if name not in ("__dict__", "__weakref__")}
        _made["RFMModel"] = type("RFMModel", (AbstractModel,), members | {"__module__": __name__})
    return _made["RFMModel"]


def __getattr__(name: str) -> Any:
    # AutoGluon pickles its models by the name of their class, which exists once AutoGluon is imported.
    if name == "RFMModel":
        return tabarena_model()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Methods:
    """The methods of the model class, apart from its base class, which only AutoGluon has."""

    ag_key = "FIRSTLIGHT_RFM"
    ag_name = "FirstlightRFM"
    ag_priority = 60
    seed_name = "random_state"

    def _fit(self: Any, X: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> None:
        """Fit the classifier or the regressor, by the problem's type."""
        made = RFMRegressor if self.problem_type == "regression" else RFMClassifier
        self.model = made(**self._get_model_params())
        self.model.fit(self.preprocess(X, is_train=True), y, sample_weight=sample_weight)

    def _set_default_params(self: Any) -> None:
        self._set_default_param_value("random_state", 0)

    @classmethod
    def supported_problem_types(cls) -> list[str]:
        """Return the problems that AutoGluon may give to this model."""
        return ["binary", "multiclass", "regression"]

    def _get_default_auxiliary_params(self: Any) -> dict[str, Any]:
        # super() without arguments needs the class that this method is defined in, which is not the final one.
        base: Any = super(type(self), self)
        inherited = base._get_default_auxiliary_params()
        return inherited | {"valid_raw_types": ["int", "float", "bool", "category"]}

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: Any, **kwargs: Any) -> int:
        """Return bytes: the kernel matrix, up to the number of rows solved exactly, and its copy in the selection."""
        rows = min(len(X), RFMRegressor().exact_rows)
        return 2 * 8 * rows * rows + 8 * X.shape[0] * max(X.shape[1], 1) * 4
