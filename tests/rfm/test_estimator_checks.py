"""All of scikit-learn's own checks, for both estimators as shipped."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from firstlight.rfm import RFMClassifier, RFMRegressor


@pytest.mark.parametrize("estimator", [RFMClassifier(), RFMRegressor()], ids=lambda one: type(one).__name__)
def test_every_check_passes(estimator):
    for one, check in estimator_checks_generator(estimator):
        check(one)
