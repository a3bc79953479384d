"""`firstlight rfm fit` on a table with words, gaps and numbers."""

import joblib
import numpy as np
import pandas as pd
import pytest

from firstlight import rfm
from firstlight.records import Store


@pytest.fixture
def table(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((90, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(rng.random(90) < 0.5, "x", "y")
    frame["price"] = frame["a"] * frame["b"]
    frame["sold"] = np.where(frame["a"] > 0, "yes", "no")
    return frame


def test_regression_writes_a_page_and_a_model(cli, folder, table):
    table.loc[4, "c"] = np.nan
    table.drop(columns="sold").to_csv(folder / "houses.csv", index=False)
    done = cli("rfm", "fit", "houses.csv", "--target", "price", "--folds", "2", "--update", "nfa")
    assert done.code == 0, done.err
    assert "regression of price: 90 rows, 4 columns" in done.out
    assert all(name in done.out for name in ("RFM", "kernel ridge", "gradient boosting", "R²"))
    page = (folder / "houses.rfm.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 5
    assert "90 rows, 4 columns, 2 folds." in page
    with Store(folder / ".firstlight/store.sqlite") as store:
        assert [record.params["method"] for record in store.fits()] == ["RFM", "kernel ridge", "gradient boosting"]
    assert cli("report", "all.html").code == 0
    assert (folder / "all.html").read_text(encoding="utf-8").count("<svg") == 5
    pipeline = joblib.load(folder / "houses.rfm.joblib")
    assert pipeline.predict(table.drop(columns=["sold", "price"])).shape == (90,)


def test_classification_as_json_and_a_safe_file(cli, folder, table):
    table[["a", "b", "sold"]].to_parquet(folder / "sales.parquet")
    words = ("rfm", "fit", "sales.parquet", "--target", "sold", "--folds", "2", "--update", "fact", "--json")
    done = cli(*words, "--report", "r.html")
    assert done.code == 0, done.err
    assert done.json["RFM"]["scores"]["mean"] > 0.8
    assert set(rfm.load(folder / "sales.rfm.safetensors").predict(table[["a", "b"]])) == {"yes", "no"}
    assert not (folder / "sales.rfm.joblib").exists()


def test_a_target_of_bytes_is_refused(cli, folder, table):
    table.assign(sold=[b"yes", b"no"] * 45)[["a", "b", "sold"]].to_parquet(folder / "sales.parquet")
    done = cli("rfm", "fit", "sales.parquet", "--target", "sold")
    assert (done.code, "the target 'sold' holds bytes; give a column of numbers or of text" in done.err) == (2, True)


def test_separators_packing_and_decimal_commas(folder, table):
    from firstlight.rfm import read_table

    table.to_csv(folder / "a.tsv", sep="\t", index=False)
    table.to_csv(folder / "b.csv.gz", index=False)
    table.to_csv(folder / "c.csv", sep=";", decimal=",", index=False)
    table.to_csv(folder / "d.CSV", sep=";", index=False, encoding="utf-8-sig")
    for name in ("a.tsv", "b.csv.gz", "c.csv", "d.CSV"):
        pd.testing.assert_frame_equal(read_table(folder / name), table)
    (folder / "e.csv").write_text('"Price; net; EUR",y\n1,2\n3,4\n')
    assert read_table(folder / "e.csv").columns.tolist() == ["Price; net; EUR", "y"]
    (folder / "f.tsv").write_text("Age, years\tIncome, thousand, EUR\ty\n1\t2\t3\n")
    assert read_table(folder / "f.tsv").iloc[0].tolist() == [1, 2, 3]
    (folder / "g.csv").write_text("self;y\n1,5;2\n2,5;3\n")
    assert read_table(folder / "g.csv")["self"].tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match=r"\.csv, \.tsv or \.parquet .* got table\.parquet\.gz"):
        read_table("table.parquet.gz")


def test_dates_durations_and_gaps_of_every_kind(cli, folder, table):
    table["day"] = pd.date_range("2020", periods=90, tz="Europe/Paris")
    table["wait"] = pd.to_timedelta(np.arange(90), unit="h")
    table["flag"] = pd.array([True, False, None] * 30, dtype="boolean")
    table["count"] = pd.array([1, None] * 45, dtype="Int64")
    table.to_parquet(folder / "t.parquet")
    done = cli("rfm", "fit", "t.parquet", "--target", "price", "--folds", "2", "--update", "nfa")
    assert done.code == 0, done.err
    assert joblib.load(folder / "t.rfm.joblib").predict(table.drop(columns="price")).shape == (90,)
    done = cli("rfm", "fit", "t.parquet", "--target", "day")
    assert (done.code, "the target 'day' holds dates" in done.err) == (2, True)
    table.assign(a=np.inf)[["a", "b", "price"]].to_csv(folder / "inf.csv", index=False)
    done = cli("rfm", "fit", "inf.csv", "--target", "price")
    assert (done.code, "infinities in a; replace them" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.csv", "--target", "a"), "there is no file none.csv"),
        (("t.csv", "--target", "prize"), "no column 'prize'; did you mean 'price'?"),
        (("t.csv", "--target", "price", "--model", "m.pkl"), "a .joblib or .safetensors file, got m.pkl"),
        (("t.csv", "--target", "price", "--model", "m.safetensors"), "cannot hold what fills and encodes kind, sold"),
        (("t.txt", "--target", "a"), "(text also as .gz), got t.txt"),
        (("t.csv", "--target", "sold", "--task", "regression"), "regression needs a target of numbers"),
    ],
)
def test_errors_say_what_to_do(cli, folder, table, words, said):
    table.to_csv(folder / "t.csv", index=False)
    (folder / "t.txt").write_text("a\n1\n")
    done = cli("rfm", "fit", *words)
    assert done.code == 2
    assert said in done.err
