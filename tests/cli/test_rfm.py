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
    model = rfm.load(folder / "houses.rfm.safetensors")
    assert model.predict(table.drop(columns=["sold", "price"])).shape == (90,)


def test_classification_as_json_and_a_safe_file(cli, folder, table):
    table[["a", "b", "sold"]].to_parquet(folder / "sales.parquet")
    words = ("rfm", "fit", "sales.parquet", "--target", "sold", "--folds", "2", "--update", "fact", "--json")
    done = cli(*words, "--report", "r.html")
    assert done.code == 0, done.err
    assert done.json["RFM"]["scores"]["mean"] > 0.8
    assert 0 < done.json["RFM"]["scores"]["log_loss"] < 0.7
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 6
    assert "Log loss" in page
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
    assert rfm.load(folder / "t.rfm.safetensors").predict(table.drop(columns="price")).shape == (90,)
    done = cli("rfm", "fit", "t.parquet", "--target", "day")
    assert (done.code, "the target 'day' holds dates" in done.err) == (2, True)
    table.assign(a=np.inf)[["a", "b", "price"]].to_csv(folder / "inf.csv", index=False)
    done = cli("rfm", "fit", "inf.csv", "--target", "price")
    assert (done.code, "infinities in a; replace them" in done.err) == (2, True)


def test_columns_of_few_values_or_none(cli, folder, table):
    table["rare"] = [1.5] + [np.nan] * 89  # in one fold, no training row has a value
    table["seldom"] = ["word"] + [None] * 89
    table["empty"] = None
    table.to_csv(folder / "t.csv", index=False)
    done = cli("rfm", "fit", "t.csv", "--target", "sold", "--folds", "2", "--update", "nfa")
    assert done.code == 0, done.err
    assert "note: no row has a value in empty; these columns are ignored" in done.out
    assert "UserWarning" not in done.err + done.out
    model = rfm.load(folder / "t.rfm.safetensors")
    assert model.predict(rfm.read_table(folder / "t.csv").drop(columns="sold")).shape == (90,)


def test_dates_in_text_files(folder, table):
    table["day"] = pd.date_range("2024-01-30", periods=90).strftime("%Y-%m-%d")
    table["moment"] = pd.date_range("2024-01-30", periods=90, freq="h", tz="UTC").strftime("%Y-%m-%dT%H:%M:%SZ")
    table["slash"] = table["day"].str.replace("-", "/")
    table["wrong"] = "2024-02-31"
    table["code"] = "12-2024"
    table.loc[5, "day"] = None
    for separator in (",", ";"):
        table.to_csv(folder / "d.csv", index=False, sep=separator)
        read = rfm.read_table(folder / "d.csv")
        assert [read[name].dtype.kind for name in ("day", "moment", "slash")] == ["M", "M", "M"]
        assert all(read[name].dtype.kind != "M" for name in ("wrong", "code", "kind"))
        assert read["day"].isna().sum() == 1
        pd.testing.assert_series_equal(read["slash"].dt.strftime("%Y/%m/%d"), table["slash"], check_dtype=False)


def test_row_numbers_names_and_leaks_are_flagged(cli, folder, table):
    table["row"] = np.arange(90)
    table["name"] = [f"house {i}" for i in range(90)]
    table["euros"] = 0.9 * table["price"] + 5
    table.drop(columns="sold").to_csv(folder / "leak.csv", index=False)
    done = cli("rfm", "fit", "leak.csv", "--target", "price", "--folds", "2", "--update", "nfa", "--model", "m.joblib")
    assert done.code == 0, done.err
    assert "check column row: it counts the rows" in done.out
    assert "check column name: it has another value in each row" in done.out
    assert "check column euros: it has the order of the target (rank correlation 1.000)" in done.out
    assert "check column a" not in done.out
    assert joblib.load(folder / "m.joblib").n_features_in_ == 7
    assert "Column row counts the rows." in (folder / "leak.rfm.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.csv", "--target", "a"), "there is no file none.csv"),
        (("t.csv", "--target", "prize"), "no column 'prize'; did you mean 'price'?"),
        (("t.csv", "--target", "price", "--model", "m.pkl"), "a .joblib or .safetensors file, got m.pkl"),
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
