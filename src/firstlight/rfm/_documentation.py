"""Documentation that both estimators share: their parameters and fitted attributes, in numpydoc."""

import inspect
from typing import TypeVar

Estimator = TypeVar("Estimator")

PARAMETERS = """
Parameters
----------
update : {"auto", "fact", "fact_geometric", "nfa"} or None, default="auto"
    How the metric M is updated after each fit: from FACT ("fact"), from FACT·M ("fact_geometric") or from AGOP
    ("nfa"). "auto" tries all three and takes the best. None gives plain kernel ridge regression.
kernel : {"auto", "laplace", "gaussian", "quadratic", "exponential"} or Kernel, default="auto"
    Kernel function. "auto" learns M with the Laplace kernel and takes the Laplace or Gaussian kernel for the last
    machine, whichever has the smaller held-out error. A `Kernel` object brings its own bandwidth.
bandwidth : float or {"auto", "median"}, default="auto"
    Length scale L of the kernel, in units of the scaled columns. "median" is the median distance between rows (the
    median norm of rows for an inner-product kernel). "auto" learns M with the median and takes the median or three
    times the median for the last machine.
ridge : float or "auto", default="auto"
    Number added to the diagonal of the kernel matrix. "auto" minimises the error of the rows that also choose the
    update: held-out rows, or rows left out one at a time.
iterations : int, default=5
    Maximal number of updates of M.
tol : float, default=0.0
    Stop updating when an update changes M by less than this fraction of its norm. On the UCI tables 0.2 saves two of
    five updates and costs no accuracy on average; on tasks whose features appear late (modular sums) it stops too
    early.
power : float, default=0.5
    Exponent s of AGOP^s and (FACT·FACTᵀ)^s.
center : bool, default=False
    Whether to subtract the mean gradient before computing AGOP.
normalize : {"auto", "trace", "max"} or None, default="auto"
    Scale of M after each update: "trace" sets tr M = d, "max" sets the largest entry to 1, None leaves M unscaled.
    "auto" tries the choices that suit the update.
early_stopping : {"folds", "loo"}, float or None, default="folds"
    How to choose the update and the number of updates. "folds" holds out rows in turn and learns M without them: four
    folds, or as many as hold out 500 rows, none drawn at random. "loo" uses leave-one-out predictions, whose M has
    seen the rows left out: it favours more updates and takes a third of the time. A float is the fraction of rows to
    hold out at random. None chooses nothing and takes the last iteration. The final fit always uses all rows.
scale : bool, default=True
    Whether to standardise the columns.
precision : {"auto", "single", "double"}, default="auto"
    Floating-point precision. "auto" takes single precision from 750 rows on, if it resolves the problem.
exact_rows : int, default=15000
    Largest number of distinct rows for the exact solver. Above it, or if the kernel matrix does not fit in memory, M
    is learned from 5000 rows, and f is a sum over `n_centers` centres and local corrections, fitted to all rows.
n_centers : int, default=3000
    Number of centres, drawn from the rows, if the exact solver is not used.
random_state : int, RandomState instance or None, default=None
    Seed of all random draws: rows held out, the subset of rows that decides in large tables, and centres. None is
    seed 0.
n_jobs : int or None, default=None
    Number of updates tried in parallel. None is 1.
verbose : bool or "auto", default="auto"
    Whether to show the expected time and memory and a progress bar if there are more rows than `exact_rows`. "auto"
    shows them in a terminal.
categorical_features : array-like of bool, int or str, "from_dtype" or None, default="from_dtype"
    Columns that are categories, besides columns of text and of pandas' category type: a mask, positions or names.
    None refuses text.
cv : int, splitter, iterable or None, default=None
    Folds of `early_stopping="folds"`: a number of folds, a scikit-learn splitter, or pairs of training and held-out
    rows. None is the folds described there, or with `groups` four folds of whole groups.
""".strip()

ATTRIBUTES = """
Attributes
----------
feature_matrix_ : ndarray of shape (n_encoded, n_encoded)
    The learned metric M, in the encoded and scaled columns. A number without gaps is one encoded column.
encoded_names_ : list of str
    The names of the encoded columns, such as "colour = red".
feature_importances_ : ndarray of shape (n_features_in_,)
    The diagonal of M, added up over the encoded columns of each column of X, divided by its sum. If `n_iter_` is 0, no
    feature learning helped and they say nothing.
feature_directions_ : ndarray of shape (n_encoded, n_features_in_)
    The eigenvectors of M as rows, most important first, folded to the columns of X.
history_ : DataFrame
    One row per machine tried: update, normalize, kernel, bandwidth, columns ("all", or "linked" to the target),
    iteration, score, error, judged (the number of rows behind the score), ridge, alignment, change, condition, chosen.
n_iter_ : int
    Number of updates of M in the chosen machine.
update_ : str or None
    The chosen update; None for plain kernel ridge regression.
normalize_ : str or None
    The chosen scaling of M.
kernel_ : Kernel
    The kernel with its bandwidth.
bandwidth_ : float
    The bandwidth of `kernel_`.
ridge_ : float
    The ridge of the final fit.
condition_ : float
    Estimated condition number of the final linear system.
solver_ : {"exact", "centers"}
    Whether every distinct row is a centre of f, or only `n_centers` of them.
captured_ : float
    Fraction of the kernel's trace that the centres span; 1 for the exact solver.
precision_ : {"float32", "float64"}
    Precision of the final fit.
n_features_in_ : int
    Number of columns of X.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns; only if X had names that are all strings.
""".strip()


def documented(cls: type[Estimator]) -> type[Estimator]:
    """Replace {parameters} and {attributes} in a class docstring by the shared sections."""
    if cls.__doc__:  # None under python -OO
        text = inspect.cleandoc(cls.__doc__)
        cls.__doc__ = text.replace("{parameters}", PARAMETERS).replace("{attributes}", ATTRIBUTES)
    return cls
