"""The blueprint: every claim names what it rests on, and the graph says what falls with it."""

from collections.abc import Mapping

import pytest

from firstlight import claims
from firstlight.claims import Check, Claim
from firstlight.claims import _evidence as evidence

ALL = claims.all_claims()


def claim(name: str, *uses: str) -> Claim:
    check = Check(lambda setting: claims.Measurement({}), lambda data: [])
    return Claim(f"x.{name}", name, "", "", check, uses=tuple(f"x.{other}" for other in uses))


CHAIN = [claim("d-1", "b-1", "c-1"), claim("c-1", "a-1"), claim("b-1", "a-1"), claim("a-1")]


def test_the_registry_has_no_circle_and_no_unknown_id():
    order = claims.topological_order(ALL)
    place = {id: i for i, id in enumerate(order)}
    assert set(order) == {one.id for one in ALL}
    assert all(place[used] < place[one.id] for one in ALL for used in one.uses)


def test_what_falls_and_what_it_rests_on_are_each_others_inverse():
    for id in ("x.a-1", "x.b-1", "x.d-1"):
        for other in claims.impact(id, CHAIN):
            assert id in claims.foundations(other, CHAIN)
    assert claims.impact("x.a-1", CHAIN) == ("x.b-1", "x.c-1", "x.d-1")
    assert claims.impact("x.d-1", CHAIN) == ()


def test_a_circle_and_an_unknown_id_are_named():
    with pytest.raises(ValueError, match=r"in a circle: x.a-1 → x.b-1 → x.a-1"):
        claims.topological_order([claim("a-1", "b-1"), claim("b-1", "a-1")])
    with pytest.raises(ValueError, match=r"x.a-1 uses 'x.b-1', which is no claim"):
        claims.topological_order([claim("a-1", "b-1")])
    with pytest.raises(ValueError, match="uses holds ids of other claims"):
        claim("a-1", "a-1")


def test_a_claim_stands_right_of_what_it_uses_and_no_two_share_a_place():
    graph = claims.claim_graph(ALL)
    column = {node.id: node.column for node in graph.nodes}
    assert all(column[user] > column[used] for user, used in graph.edges)
    assert len({(node.column, node.row) for node in graph.nodes}) == len(graph.nodes)


def recorded_as(verdicts: Mapping[str, str]):
    """Stand in for `recorded`: evidence with the given verdicts by id."""

    def recorded(id, folder=None):
        if id not in verdicts:
            return {}
        made = evidence.Evidence(
            id=id, scale="paper", status=verdicts[id], criteria=(), seconds=0, machine={}, versions={}, check_digest=""
        )
        return {"paper": made}

    return recorded


def test_a_claim_is_founded_only_if_all_it_rests_on_holds(monkeypatch):
    from firstlight.claims import _graph

    verdicts = dict.fromkeys(("x.a-1", "x.b-1", "x.c-1", "x.d-1"), "holds")
    monkeypatch.setattr(_graph, "recorded", recorded_as(verdicts | {"x.c-1": "holds-as-corrected"}))
    assert all(node.founded for node in claims.claim_graph(CHAIN).nodes)
    monkeypatch.setattr(_graph, "recorded", recorded_as(verdicts | {"x.b-1": "partial"}))
    founded = {node.id: node.founded for node in claims.claim_graph(CHAIN).nodes}
    assert founded == {"x.a-1": True, "x.b-1": False, "x.c-1": True, "x.d-1": False}
    monkeypatch.setattr(_graph, "recorded", recorded_as({}))
    assert {node.status for node in claims.claim_graph(CHAIN).nodes} == {"not run"}
