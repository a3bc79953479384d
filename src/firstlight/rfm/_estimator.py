"""The base class of classifier and regressor: parameters, fitting, fitted attributes, raw predictions."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from firstlight import _canonical as canonical
from firstlight.rfm import _figures as figures
from firstlight.rfm._encoding.encoding import Encoding
from firstlight.rfm._encoding.tables import declared, encoded_room, read
from firstlight.rfm._fitting import Fitted, Settings, fit
from firstlight.rfm._folds import codes_of, merged, splits
from firstlight.rfm._machine import Rule
from firstlight.rfm._solvers.exact import predict
from firstlight.rfm._solvers.kernels import KERNELS, RANGES, Gaussian, Kernel, Laplace, in_range, median_bandwidth
from firstlight.rfm._solvers.solution import IllConditionedWarning
from firstlight.rfm._solvers.threads import threads
from firstlight.rfm._state import plain, restored
from firstlight.rfm._tables.table import Scaling, distinct
from firstlight.rfm._updates import UPDATES, Normalize, Update

_NORMALIZED: dict[Update, tuple[Normalize | None, ...]] = {
    "nfa": ("trace",),
    "fact": ("trace",),
    "fact_geometric": (None, "trace"),
}
"""Choices of `normalize="auto"`: plain FACT drifts in scale without it; geometric FACT is often better unscaled."""

WIDE = 3.0
"""The larger of the two bandwidths that "auto" tries, in median distances."""


class BaseRFM(BaseEstimator):
    """Fits and predicts; the subclasses encode targets as numbers and decode predictions."""

    _parameter_constraints: ClassVar[dict] = {
        "update": [StrOptions({"auto", *UPDATES}), None],
        "kernel": [StrOptions({"auto", *KERNELS}), Kernel],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "median"})],
        "ridge": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "iterations": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="neither")],
        "center": ["boolean"],
        "normalize": [StrOptions({"auto", "trace", "max"}), None],
        "early_stopping": [StrOptions({"folds", "loo"}), Interval(Real, 0, 1, closed="neither"), None],
        "scale": ["boolean"],
        "precision": [StrOptions({"auto", "single", "double"})],
        "exact_rows": [Interval(Integral, 1, None, closed="left")],
        "n_centers": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["boolean", StrOptions({"auto"})],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        *,
        update="auto",
        kernel="auto",
        bandwidth="auto",
        ridge="auto",
        iterations=5,
        tol=0.0,
        power=0.5,
        center=False,
        normalize="auto",
        early_stopping="folds",
        scale=True,
        precision="auto",
        exact_rows=15_000,
        n_centers=3000,
        random_state=None,
        n_jobs=None,
        verbose="auto",
        categorical_features="from_dtype",
        cv=None,
    ):
        self.update = update
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.iterations = iterations
        self.tol = tol
        self.power = power
        self.center = center
        self.normalize = normalize
        self.early_stopping = early_stopping
        self.scale = scale
        self.precision = precision
        self.exact_rows = exact_rows
        self.n_centers = n_centers
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.categorical_features = categorical_features
        self.cv = cv

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each column in the trace of M, in the scaled columns; encoded columns are added up.

        If no feature learning helped (`n_iter_` is 0), M is the identity and they say nothing;
        `sklearn.inspection.permutation_importance` measures what each column adds.
        """
        check_is_fitted(self)
        shares = self._encoding.fold(np.maximum(self.feature_matrix_.diagonal(), 0) * self._variances)
        return shares / (shares.sum() or 1.0)

    @property
    def feature_directions_(self) -> np.ndarray:
        """The eigenvectors of M as rows, most important first; the first large entry is positive.

        Eigenvectors whose eigenvalues agree to the precision of the fit form the canonical basis of their space. The
        entries of a column that is encoded as several are folded to their length, which has no sign.
        """
        check_is_fitted(self)
        precise = max(canonical.TOLERANCE, 256 * float(np.finfo(self.precision_).eps))
        return self._encoding.fold_directions(canonical.eigh(-self.feature_matrix_, precise)[1].T)

    @property
    def encoded_names_(self) -> list[str]:
        """The names of the encoded columns, which are the rows of `feature_matrix_`."""
        check_is_fitted(self)
        return self._encoding.names(figures.names(self))

    def plot(self, what: str = "importances"):
        """Draw "importances", "matrix", "directions", "history" or "calibration" as a Matplotlib figure."""
        from firstlight import plots

        return plots.draw(self.figure_data(what))

    def figure_data(self, what: str = "importances"):
        """Return the figure that `plot` draws, as data for `firstlight.plots` and reports."""
        check_is_fitted(self)
        if what not in figures.FIGURES:
            raise ValueError(f"what must be one of {', '.join(figures.FIGURES)}; got {what!r}")
        return figures.FIGURES[what](self)

    def save(self, path):
        """Write the fitted estimator to one `.safetensors` file, which `rfm.load` reads; it holds no code."""
        from firstlight.rfm._files import save

        check_is_fitted(self)
        return save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    def __getstate__(self):
        state: Any = super().__getstate__()
        return plain(state)

    def __setstate__(self, state):
        super().__setstate__(restored(state))

    def _html_repr(self) -> str:
        shown = super()._html_repr()
        return shown + figures.summary_html(self) if hasattr(self, "feature_matrix_") else shown

    def _encoded(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the encoded table of a fit, its targets and weights; stores the encoding."""
        mask = declared(self.categorical_features, X)
        table, y = read(self, X, y, reset=True, numeric=None if mask is None else False, **more)
        weights = self._check_weights(table, sample_weight)
        if isinstance(table, np.ndarray):
            self._encoding = Encoding.of_numbers(table, weights)
        else:
            self._encoding = Encoding.of_frame(table, weights, mask)
        encoded_room(len(table), len(self._encoding.owners))
        self._encoding.warn(figures.names(self))
        return self._encoding.apply(table), y, weights

    def _check_weights(self, X: Any, sample_weight: Any) -> np.ndarray:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():  # scikit-learn itself refuses this only from 1.9 on
            raise ValueError("sample_weight must contain at least one non-zero number, got only zeros")
        return weights

    def _fit(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray,
        *,
        loo: bool,
        labels: Any = None,
        groups: Any = None,
    ) -> tuple[Fitted, np.ndarray]:
        """Fit f to centred and scaled targets Y (n, c); return the machine and the merged row of each row.

        `loo` asks for leave-one-out predictions of a fit without a selection; `labels` (n,) and `groups` (n,) are what
        `cv` splits by.
        """
        if self.early_stopping != "folds" and not (self.cv is None and groups is None):
            raise ValueError(
                f"cv and groups choose the folds of early_stopping='folds'; got early_stopping={self.early_stopping!r}"
            )
        folds = splits(self.cv, X, labels, groups)
        X, Y, weights, place = distinct(X, Y, weights, codes_of(folds, len(X)))
        # K + ridge·diag(1/w) depends only on ridge/w: with mean weight 1, the same ridges are tried at any scale.
        self._mass = float(weights.mean())
        weights = weights / self._mass
        radial = self._kernel_types()[0].radial
        self._scaling = Scaling.of(X, weights, shift=bool(self.scale or radial), spread=bool(self.scale))
        self._scaling = self._encoding.rescaled(self._scaling)
        Z = self._scaling.apply(X)
        self._variances = self._encoding.variances(Z, weights)
        peak = float(np.abs(Z).max())
        if peak != 0 and not in_range(peak, np.dtype(np.float64)):
            raise ValueError(
                f"the squares of X overflow or underflow (entries up to {np.abs(X).max():.1e}); "
                "leave scale=True, or divide X by a number of that size"
            )
        kernels = self._kernels(Z, weights)
        settings = replace(self._settings(loo), kernels=kernels, splits=merged(folds, place))
        fitted = fit(Z, Y, weights, kernels[0], settings, self._quality)
        self._store(fitted)
        return fitted, place

    def _settings(self, loo: bool) -> Settings:
        params: Any = self
        state = params.random_state
        seed = state if isinstance(state, Integral) else 0 if state is None else state.randint(2**31)
        stopping: Any = params.early_stopping
        if stopping not in (None, "folds", "loo"):
            stopping = float(stopping)
        return Settings(
            tuple(self._rules()),
            int(self.iterations),
            float(self.tol),
            None if self.ridge == "auto" else float(self.ridge) / self._mass,
            stopping,
            params.precision,
            int(self.exact_rows),
            int(self.n_centers),
            None if self.n_jobs is None else int(self.n_jobs),
            int(seed),
            loo,
            follows=not isinstance(params.kernel, Kernel) and isinstance(params.bandwidth, str),
            verbose=params.verbose,
        )

    def _rules(self) -> list[Rule]:
        if self.update is None or self.iterations == 0:
            return []
        params: Any = self
        updates: tuple[Update, ...] = UPDATES if params.update == "auto" else (params.update,)
        return [
            Rule(update, how, float(self.power), bool(self.center))
            for update in updates
            for how in (_NORMALIZED[update] if params.normalize == "auto" else (params.normalize,))
        ]

    def _kernel_types(self) -> tuple[Any, ...]:
        if isinstance(self.kernel, Kernel):
            return (self.kernel,)
        return (Laplace, Gaussian) if self.kernel == "auto" else (KERNELS[self.kernel],)

    def _kernels(self, Z: np.ndarray, weights: np.ndarray) -> tuple[Kernel, ...]:
        """Return the candidates; the first one learns M, and without a selection it is the only one."""
        types = self._kernel_types()
        if isinstance(self.kernel, Kernel):
            return types
        if isinstance(self.bandwidth, str):
            median = median_bandwidth(Z, weights, types[0].radial)
            bandwidths = [median, WIDE * median] if self.bandwidth == "auto" and types[0].radial else [median]
        else:
            bandwidths = [float(self.bandwidth)]
        kernels = tuple(kernel(bandwidth) for kernel in types for bandwidth in bandwidths)
        return kernels[:1] if self.early_stopping is None else kernels

    def _store(self, fitted: Fitted) -> None:
        import pandas as pd

        machine, self.kernel_ = fitted.machine, fitted.kernel
        self.feature_matrix_ = machine.M
        self.n_iter_ = machine.iteration
        self.ridge_ = machine.solution.ridge * self._mass
        self.bandwidth_ = float(self.kernel_.bandwidth)
        self.condition_ = machine.solution.condition
        self.captured_ = machine.solution.captured
        self.precision_ = str(fitted.dtype)
        self.solver_ = "exact" if len(fitted.centres) == fitted.rows else "centers"
        self.history_ = pd.DataFrame(fitted.history)
        self.history_["ridge"] *= self._mass
        (chosen,) = (row for row in fitted.history if row["chosen"])
        self.update_, self.normalize_ = chosen["update"], chosen["normalize"]
        self._centres, self._beta, self._leaves = fitted.centres, machine.solution.beta, fitted.leaves
        limit = fitted.resolution
        if self.condition_ > limit:
            warnings.warn(
                f"the kernel matrix plus ridge {self.ridge_:g} has condition number {self.condition_:.1e}, more than "
                f"{self.precision_} resolves ({limit:.0e}); give a larger ridge",
                IllConditionedWarning,
                stacklevel=4,
            )

    def fit_blocks(self, make_blocks: Any) -> Any:
        """Fit a table that does not fit in memory; `make_blocks()` returns an iterator over blocks (X, y).

        It is called twice and must return the same blocks each time. A sample of 20,000 rows chooses everything and
        learns M; the machine on `n_centers` centres is then fitted to all rows.
        """
        from firstlight.rfm._blocks import fit_blocks

        self._validate_params()
        blocks: Any = make_blocks
        if not callable(make_blocks):
            raise TypeError(
                f"make_blocks must be a function that returns blocks (X, y), as it is called twice; got "
                f"{type(make_blocks).__name__}"
            )
        fit_blocks(self, blocks, self._settings(False).seed)
        return self

    def _replace_machine(self, centres: np.ndarray, beta: np.ndarray, ridge: float, system: Any) -> None:
        """Put a machine on centres in place of the fitted one, at the same metric and kernel."""
        self._centres, self._beta, self._leaves = centres, beta, None
        self.ridge_, self.solver_, self.precision_ = ridge, "centers", str(beta.dtype)
        self.condition_, self.captured_ = system.condition(ridge), system.captured

    def _scaled_rows(self, X: Any) -> np.ndarray:
        """Return rows as the machine takes them: encoded and scaled."""
        table, _ = read(self, X, reset=False, numeric=self._encoding.takes_array(X))
        return self._scaling.apply(self._encoding.apply(table))

    def _target_rows(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        Z = self._scaled_rows(X)
        if self.kernel_.radial:
            # At this distance the kernel is already zero; squares of larger numbers would overflow.
            far = RANGES[self._beta.dtype] ** 1.5
            Z = np.clip(Z, -far, far, out=Z)
        Z = Z.astype(self._beta.dtype, copy=False)
        metric = self.feature_matrix_.astype(self._beta.dtype)
        with threads(min(len(Z), len(self._centres)), Z.shape[1]), np.errstate(over="ignore", invalid="ignore"):
            scores = predict(self.kernel_, Z, self._centres, metric, self._beta).astype(np.float64)
            if self._leaves is not None:
                scores += self._leaves.predict(Z)
        if not np.isfinite(scores).all():
            kernel = type(self.kernel_).__name__
            raise ValueError(
                f"the {kernel} kernel overflows on rows this far from the training rows (entries up to "
                f"{np.abs(Z).max():.1e} in the scaled columns); clip them, or use a radial kernel"
            )
        return scores

    def _quality(self, predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        raise NotImplementedError
