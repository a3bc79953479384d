"""Recorded steps are those of the plain definition, and cost nothing where there are too many to list."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.records._spec import Recording
from firstlight.records._steps import EverySteps, LogSteps


def listed(last: int, every: int | None, points: int | None) -> tuple[int, ...]:
    """The definition, written out."""
    if points is None:
        inner = range(0, last, every or 1)
    else:
        inner = (round((last ** (1 / max(points - 1, 1))) ** i) for i in range(points))
    return tuple(sorted({0, last, *(step for step in inner if step <= last)}))


@given(last=st.integers(1, 3000), spacing=st.integers(1, 4000), is_log=st.booleans(), data=st.data())
def test_steps_are_those_of_the_definition(last, spacing, is_log, data):
    recording = Recording(points=spacing) if is_log else Recording(every=spacing)
    steps, expected = recording.steps(last), listed(last, recording.every, recording.points)
    assert tuple(steps) == expected
    assert len(steps) == len(expected) <= steps.at_most
    place = data.draw(st.integers(-len(expected), len(expected) - 1))
    assert steps[place] == expected[place]
    step = data.draw(st.integers(-1, last + 1))
    assert (step in steps) == (step in expected)


@pytest.mark.parametrize("steps", [EverySteps(10**18, 1), LogSteps(10**18, 10**15), LogSteps(2**63 - 1, 10**15)])
def test_steps_without_number_are_never_listed(steps):
    start = time.process_time()
    assert steps.at_most > 10**14
    first = iter(steps)
    assert [next(first) for _ in range(3)] == [0, 1, 2]
    assert 1 in steps
    assert -1 not in steps
    assert time.process_time() - start < 1


def test_equal_steps_are_skipped():
    start = time.process_time()
    assert tuple(LogSteps(5, 10**15)) == (0, 1, 2, 3, 4, 5)
    assert time.process_time() - start < 1
