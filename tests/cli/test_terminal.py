"""Output on any terminal: every encoding, closed and broken streams, narrow screens, no home."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from firstlight.cli import _exits as exits
from firstlight.cli import main
from firstlight.cli._terminal import streams as terminal
from tests.cli.test_entry import COMMANDS

CHEAP = "cogo.theorem-1"
FIRSTLIGHT = f"{sys.executable} -m firstlight.cli"


@pytest.fixture(params=["ascii", "latin-1"])
def printed(request, folder, monkeypatch):
    """Run a command with streams of this encoding; returns its exit code and all that it printed."""

    def command(*words):
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=request.param) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            code = main([str(word) for word in words])
        return code, "".join(stream.buffer.getvalue().decode(request.param) for stream in streams)

    return command


def test_every_command_explains_itself_without_unicode(printed):
    for words in ((), *COMMANDS):
        code, text = printed(*words, "--help")
        assert code == exits.OK
        assert f"Usage: firstlight {' '.join(words)}".strip() in text


def test_every_result_is_readable_without_unicode(printed, spec):
    for words in (
        ("claims", "list"),
        ("claims", "show"),
        ("claims", "show", "--json"),
        ("run", spec),
        ("runs", "list"),
        ("reproduce", CHEAP, "--verbose"),
        ("doctor", "--no-measure"),
        ("store", "check"),
    ):
        code, text = printed(*words)
        assert code == exits.OK, (words, text[-300:])
        assert not re.search(r"\\u(?!00)" if "--json" not in words else "Traceback", text), words
    code, text = printed("run", "λ₂.toml")
    assert (code, "error: lambda2.toml: cannot be read" in text) == (exits.USER_ERROR, True)


def test_json_keeps_its_characters_without_unicode(printed, spec):
    assert printed("run", spec, "--set", "name='λ ≥ 1'")[0] == exits.OK
    _, text = printed("runs", "list", "--json")
    assert json.loads(text)[0]["spec"]["name"] == "λ ≥ 1"


SHELLS = {
    "{fl} --version >&-": exits.OK,
    "{fl} rnu 2>&-": exits.USER_ERROR,
    "{fl} runs delete 3f --store none.sqlite <&- >&- 2>&-": exits.USER_ERROR,
    "{fl} claims list | true": exits.BROKEN_PIPE,
    "{fl} --help | true": exits.BROKEN_PIPE,
    "{fl} rnu 2>&1 >/dev/null | true": exits.BROKEN_PIPE,
    "{fl} --version >/dev/full": exits.USER_ERROR,
    "env -u HOME TERM=dumb {fl} claims list cogo": exits.OK,
    "HOME=/nonexistent LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {fl} claims show cogo": exits.OK,
}


@pytest.mark.parametrize("line", SHELLS)
def test_exit_codes_are_those_documented(folder, line):
    shell = line.format(fl=FIRSTLIGHT) + "; exit ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == SHELLS[line], done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_file_opened_later_never_takes_the_place_of_stdout(folder):
    code = (
        "import os; from firstlight.cli import main; main(['--version']); "
        "number = os.open('kept', os.O_CREAT | os.O_WRONLY); os.write(1, b'stray'); assert number > 2"
    )
    subprocess.run(["bash", "-c", f'{sys.executable} -c "{code}" >&- 2>&- <&-'], check=True)
    assert (folder / "kept").read_bytes() == b""


def test_no_word_is_broken_in_help_on_a_narrow_screen(cli, monkeypatch):
    for words in COMMANDS:
        shown = {}
        for width in ("40", "300"):
            monkeypatch.setenv("COLUMNS", width)
            text = re.sub("[│╭╮╰╯─]", " ", cli(*words, "--help").out)
            shown[width] = {word.rstrip(":,") for word in text.split()}
        assert shown["40"] <= shown["300"], words


def test_no_word_is_broken_in_tables_and_text_on_a_narrow_screen(folder):
    script = "from firstlight.cli import main; main(['claims', 'list']); main(['claims', 'show', 'li2']); main(['rnu'])"
    narrow, wide = (_on_terminal(script, columns) for columns in (40, 2000))
    assert set(narrow.split()) <= set(wide.split())
    assert max(map(len, narrow.splitlines())) <= 40 or max(map(len, narrow.split())) > 30


def _on_terminal(script: str, columns: int) -> str:
    """What the script prints on a terminal of this width, without colours."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment |= {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            parts.append(os.read(mine, 1 << 16))
        except OSError:  # Linux says so at the end
            break
    os.close(mine)
    process.wait()
    return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(parts).decode()).replace("\r", "")


DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", DEEP),
        ("deep.toml", f"a = {DEEP}"),
        ("dots.toml", f"{'a.' * 30_000}a = 1"),
        ("header.toml", f"[{'a.' * 30_000}a]"),
        ("half.json", '{"name": "\\ud800"}'),
        ("twice.json", '{"seed": 1, "seed": 2}'),
        ("long.json", '{"' + "x" * 100_000 + '": 1}'),
        ("many.json", "{" + ", ".join(f'"field{i}": 1' for i in range(300)) + "}"),
    ],
)
def test_a_file_that_no_spec_can_be_is_the_users_error(cli, folder, name, content):
    (folder / name).write_text(content, encoding="utf-8")
    for command in ("run", "sweep"):
        _assert_user_error(cli(command, name))


@pytest.mark.parametrize(
    "words",
    [
        ("--set", f"task.group={DEEP}"),
        ("--set", f"{'a.' * 30_000}a=1"),
        ("--set", "name=\udcff"),
        ("--set", "name='\udcff'"),
        ("--set", "\udcff=1"),
        ("--set", "x" * 100_000),
        ("--set", f"task.group={'x' * 100_000}"),
        ("--seed", "9" * 5000),
        ("--" + "x" * 100_000,),
    ],
    ids=lambda words: ascii(words)[:40],
)
def test_words_that_no_spec_can_hold_are_the_users_error(cli, spec, words):
    _assert_user_error(cli("run", spec, *words))


def test_a_path_of_bytes_is_printed_or_refused(cli, folder):
    for words in (
        ("run", "\udcff.toml"),
        ("runs", "show", "\udcff"),
        ("report", "\udcff.html"),
        ("claims", "show", "\udcff"),
    ):
        _assert_user_error(cli(*words))


def _assert_user_error(done):
    assert done.code == exits.USER_ERROR, done.err[-500:]
    assert "Traceback" not in done.err
    assert len(done.err) < 1.2 * terminal.LONGEST
