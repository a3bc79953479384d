"""BLAS has one thread while any caller holds the limit, and its own number of threads afterwards."""

from contextlib import ExitStack

import jax
import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

from firstlight import flow, models, tasks
from firstlight._threads import one_blas_thread


def counts() -> set[int]:
    assert scipy.linalg.inv(np.eye(2)).shape == (2, 2)
    return {part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas"}


def test_callers_may_leave_in_any_order():
    with threadpool_limits(2, user_api="blas"):
        before = counts()
        first, second = ExitStack(), ExitStack()
        first.enter_context(one_blas_thread())
        second.enter_context(one_blas_thread())
        assert counts() == {1}
        first.close()
        assert counts() == {1}
        second.close()
        assert counts() == before


def test_an_error_inside_lifts_the_limit():
    with threadpool_limits(2, user_api="blas"):
        before = counts()
        try:
            with one_blas_thread():
                raise KeyError
        except KeyError:
            pass
        assert counts() == before


def test_a_run_keeps_blas_to_one_thread():
    split = tasks.group_task("Z5").split(fraction=1.0)
    model = models.TwoLayer.init(jax.random.key(0), inputs=10, width=8, outputs=5)
    seen: set[int] = set()
    with threadpool_limits(2, user_api="blas"):
        before = counts()
        flow.train(model, split, steps=2, on_record=lambda *row: seen.update(counts()), progress="off")
        assert seen == {1}
        assert counts() == before
