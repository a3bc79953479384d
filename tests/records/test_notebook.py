"""What a notebook shows: short reprs, HTML that is escaped, and figures that draw themselves."""

from xml.etree import ElementTree

import numpy as np
import pytest

from firstlight.records import (
    ClaimRecord,
    Criterion,
    FitRecord,
    ProbedLayer,
    ProbeRecord,
    RunRecord,
    RunSpec,
    Store,
    Table,
    TheoryVerdict,
    figure,
    html_facts,
)

NASTY = "<script>alert(1)</script>"


def record(name: str = "") -> RunRecord:
    steps = np.arange(0, 400, 10)
    columns = {f"lens.column_{i}": np.zeros(len(steps)) for i in range(60)}
    columns |= {"train_accuracy": np.linspace(0, 1, len(steps)), "li2.content": np.zeros((len(steps), 3, 4))}
    curves = figure.curves([figure.Series("train", steps, columns["train_accuracy"])], x="epoch", y="accuracy")
    verdict = TheoryVerdict(theory="li2", predicted="epoch 120", measured="epoch 140", agrees="yes", sentence="It did.")
    return RunRecord(
        spec=RunSpec(name=name),
        status="finished",
        steps=400,
        table=Table(steps, columns),
        summary={"memorised_at": 16, "generalised_at": 140, "story": "Memorised, then generalised."},
        figures=(curves, curves),
        verdicts=(verdict,),
    )


def well_formed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{html}</div>")


def test_a_run_is_one_line_and_a_page_with_its_scoreboard_and_curves() -> None:
    run = record()
    assert repr(run) == str(run)
    assert "finished after 400 epochs, memorised at epoch 16, generalised at epoch 140" in repr(run)
    assert len(repr(run)) < 200
    page = well_formed(run._repr_html_())
    assert [cell.text for cell in page.iter("th")] == ["theory", "predicted", "measured", "agrees?", "in words"]
    assert len(list(page.iter("{http://www.w3.org/2000/svg}svg"))) == 1


def test_a_name_with_markup_is_shown_as_text(tmp_path) -> None:
    run = record(NASTY)
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        store.put_run(run)
        shown = [run._repr_html_(), store._repr_html_(), html_facts({NASTY: NASTY}, NASTY)]
    for html in shown:
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        well_formed(html)


def test_a_table_is_a_mapping_from_step_and_columns_to_arrays() -> None:
    table = Table([0, 10], {"loss": [1.0, 0.25], "b.W": np.ones((2, 3))})
    assert list(table) == list(table.keys()) == ["step", "b.W", "loss"]
    assert {name: array.shape for name, array in table.items()} == {"step": (2,), "b.W": (2, 3), "loss": (2,)}
    assert dict(table).keys() == table.arrays.keys()
    assert [array.shape for array in table.values()] == [(2,), (2, 3), (2,)]
    assert "step" in table
    assert table["step"].tolist() == [0, 10]
    assert table.get("loss") is table["loss"]
    assert table.get("accuracy") is None
    with pytest.raises(KeyError, match="no column 'accuracy'; the columns are"):
        table["accuracy"]
    assert len(table) == 2


def test_a_long_table_shows_the_columns_of_every_run_first() -> None:
    table = record().table
    assert repr(table).startswith("Table(40 rows: train_accuracy, lens.column_0")
    assert len(repr(table)) < 200
    rows = list(well_formed(table._repr_html_()).iter("tr"))
    assert len(rows) == 10  # head, four first rows, dots, four last rows
    assert [cell.text for cell in rows[0]][:2] == ["step", "train_accuracy"]


def test_a_figure_shows_itself_with_its_title_above_and_its_caption_below() -> None:
    shown = figure.curves([figure.Series("a", [0, 1], [0, 1])], x="epoch", y="loss", title="Loss", caption="It falls.")
    page = well_formed(shown._repr_html_())
    assert [part.tag.rpartition("}")[2] for part in page] == ["p", "svg", "p"]
    assert (page[0][0].text, page[2].text) == ("Loss", "It falls.")


def test_records_of_claims_fits_and_probes_are_one_line() -> None:
    passed = Criterion(clause="E* is largest", quantity="error", measured=0.0, required="≤ 1e-09", passed=True)
    fields = {"paper": "li2", "title": "Maxima", "scale": "quick", "statement": "…", "status": "holds"}
    claim = ClaimRecord(id="li2.theorem-2", criteria=(passed,), **fields)
    assert repr(claim) == "<ClaimRecord li2.theorem-2 at quick scale: holds, 1 of 1 criteria pass>"
    assert "E* is largest" in claim._repr_html_()
    fit = FitRecord(estimator="RFMClassifier", data="0" * 64, scores={"mean": 0.9125, "metric": "accuracy"})
    assert repr(fit).endswith("RFMClassifier: accuracy 0.9125>")
    layer = ProbedLayer(name="0.weight", kind="Linear", inputs=3, outputs=8, state="learning")
    probe = ProbeRecord(name="net", layers=(layer,), samples=64)
    assert repr(probe).endswith("net: 1 layer, 1 learning>")
    assert "1 learning" in probe._repr_html_()


def test_a_store_lists_its_newest_runs(tmp_path) -> None:
    with Store(tmp_path / "runs.sqlite", "rw") as store:
        assert "empty" in store._repr_html_()
        store.put_run(record())
        page = store._repr_html_()
    assert "1 run<" in page
    assert "Z71, two layers, width 2048" in page
