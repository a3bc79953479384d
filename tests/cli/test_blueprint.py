"""The blueprint on the command line: graph, impact, and the comparison of two sets of evidence."""

import json

from firstlight import claims
from firstlight.claims import _evidence as evidence

ALL = claims.all_claims()


def test_the_json_has_nodes_and_edges_from_a_claim_to_what_it_uses(cli):
    graph = cli("claims", "graph", "--json").json
    assert {node["id"] for node in graph["nodes"]} == {one.id for one in ALL}
    assert {"id", "status", "scale"} <= graph["nodes"][0].keys()
    edges = {(edge["from"], edge["to"]) for edge in graph["edges"]}
    assert edges == {(one.id, used) for one in ALL for used in one.uses}


def test_impact_is_printed_and_given_as_json(cli):
    used = next(id for id, users in claims.used_by(ALL).items() if users)
    done = cli("claims", "impact", used, "--json").json
    assert tuple(done["falls"]) == claims.impact(used, ALL)
    assert set(done["direct"]) <= set(done["falls"])
    assert used in cli("claims", "impact", used).out
    assert "give one claim" in cli("claims", "impact", "cogo").err


def test_two_sets_of_evidence_are_compared(cli, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    rows = [claims.at_most("small", "error", 0.0, 1e-9), claims.at_most("small", "error", 1.0, 1e-9)]
    for folder, row, status in ((before, rows[0], "holds"), (after, rows[1], "fails")):
        folder.mkdir()
        made = evidence.Evidence(
            id="x.a-1",
            scale="quick",
            status=status,
            criteria=(row,),
            seconds=1,
            machine={},
            versions={},
            check_digest="",
        )
        (folder / "x.a-1.quick.json").write_text(made.to_json(), encoding="utf-8")
    (change,) = claims.compare_evidence(before, after)
    assert (change.before, change.after) == ("holds", "fails")
    assert change.criteria == ("small (error): 0.0 → 1.0, required ≤ 1e-09",)
    assert claims.compare_evidence(before, before) == ()
    done = cli("claims", "diff", before, after)
    assert done.code == 1
    assert "x.a-1 (quick): holds → fails" in done.out
    assert "there is no folder" in cli("claims", "diff", tmp_path / "nowhere", after).err
    assert json.loads(cli("claims", "diff", before, after, "--json").out)[0]["after"] == "fails"


def test_a_new_package_does_not_replace_a_folder(cli, tmp_path):
    (tmp_path / "mine").mkdir()
    done = cli("claims", "new", "mine", "--folder", tmp_path)
    assert done.code == 2
    assert "exists; choose another name" in done.err
