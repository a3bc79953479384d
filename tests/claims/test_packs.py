"""Another package registers its claims and lenses; the template gives one that works at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight import claims

EXAMPLE = Path(__file__).parents[2] / "examples" / "parseval"


def run(*words: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(path), *filter(None, sys.path)])}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, timeout=240)


def install(source: Path, target: Path) -> None:
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    done = subprocess.run([sys.executable, *words, str(source)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


COMMANDS = """
import contextlib, io, json, sys
from firstlight import runs
from firstlight.cli import main

done = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    done.append([code, out.getvalue(), err.getvalue()])
print(json.dumps([done, runs.lenses()["parseval"].title]))
"""
"""The command line, several times in a process that can import the pack."""


def test_the_example_pack_is_installed_and_shown(tmp_path):
    pytest.importorskip("hatchling", reason="building the pack needs hatchling")
    install(EXAMPLE, tmp_path / "site")
    pages = tmp_path / "pages"
    lines = [
        ["claims", "list", "parseval"],
        ["reproduce", "parseval", "--store", str(tmp_path / "s.sqlite")],
        ["claims", "impact", "cogo.lemma-3"],
        ["claims", "site", str(pages), "parseval"],
    ]
    ran = run("-c", COMMANDS, json.dumps(lines), path=tmp_path / "site")
    assert ran.returncode == 0, ran.stderr
    done, title = json.loads(ran.stdout)
    assert [code for code, *_ in done] == [0, 0, 0, 0], done
    listed, reproduced, impact, _ = (out for _, out, _ in done)
    assert "parseval.lemma-1" in listed
    assert "holds" in listed
    assert "1 of 1 verdicts agree with the record" in reproduced
    assert "parseval.lemma-1" in impact
    assert "Halvings" in title
    assert 'href="parseval.html"' in (pages / "index.html").read_text(encoding="utf-8")
    assert "sum of squares" in (pages / "parseval.html").read_text(encoding="utf-8")


def test_a_new_package_passes_its_own_test_at_once(tmp_path):
    path = claims.write_pack("my-paper", tmp_path)
    assert (path / "src" / "my_paper" / "evidence" / "my-paper.lemma-1.quick.json").exists()
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(path / "tests"), path=path / "src")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_example_is_what_the_template_gives(tmp_path):
    path = claims.write_pack("parseval-copy", tmp_path)
    for file in ("checks.py", "statements.py", "lenses.py", "docs.md", "__init__.py"):
        written = (path / "src" / "parseval_copy" / file).read_text(encoding="utf-8")
        ours = (EXAMPLE / "src" / "parseval" / file).read_text(encoding="utf-8")
        assert written.replace("parseval-copy", "parseval").replace("parseval_copy", "parseval") == ours


@pytest.mark.parametrize(
    ("name", "message"),
    [("My Paper", "small letters, digits and dashes"), ("li2", "is the key of a registered paper")],
)
def test_a_name_that_cannot_be_used_is_refused(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        claims.write_pack(name, tmp_path)


def test_an_existing_folder_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="exists; choose another name"):
        claims.write_pack("mine", tmp_path)


def test_a_broken_entry_point_is_a_warning_and_a_wrong_one_an_error(monkeypatch):
    from firstlight import _plugins
    from firstlight.claims import _registry

    class Broken:
        name, value = "broken", "no_such_module:PACK"

        def load(self):
            raise ImportError("no module named no_such_module")

    monkeypatch.setattr(_plugins.metadata, "entry_points", lambda group: [Broken()])
    _plugins.registered.cache_clear()
    with pytest.warns(RuntimeWarning, match="no_such_module:PACK of the group g was left out"):
        assert _plugins.registered("g") == ()
    _plugins.registered.cache_clear()
    monkeypatch.setattr(_registry._plugins, "registered", lambda group: (("odd", 3),))
    _registry.packs.cache_clear()
    with pytest.raises(ValueError, match=r"must be a firstlight.claims.Pack; got 3"):
        _registry.packs()
    _registry.packs.cache_clear()
