"""The atlas: phase diagrams of runs that are in a store, or that a sweep plans."""

from firstlight.sweeps._atlas._axis import AXES, choose_axes, field_of, label_of, make_axis, value_of
from firstlight.sweeps._atlas._diagram import Point, axis_fields, draw_all, draw_phase
from firstlight.sweeps._atlas._family import Family, Outcome, families, family_id, outcome_of
from firstlight.sweeps._atlas._theory import expect, not_cached

__all__ = [
    "AXES",
    "Family",
    "Outcome",
    "Point",
    "axis_fields",
    "choose_axes",
    "draw_all",
    "draw_phase",
    "expect",
    "families",
    "family_id",
    "field_of",
    "label_of",
    "make_axis",
    "not_cached",
    "outcome_of",
    "value_of",
]
