"""A table of data: preparation, comparison of estimators on the same folds, and its figures."""
