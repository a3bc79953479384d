"""The demo tells a true story, live on a terminal, in lines elsewhere, and on a page."""

import re

from firstlight import flow, report, runs
from firstlight.cli import _exits as exits
from firstlight.cli._terminal.live import Live
from firstlight.cli.commands.demo import demo_spec
from firstlight.theories import li2


def test_the_demo_trains_tells_and_writes_a_page(cli, folder):
    done = cli("demo", "--quick", "--out", "page.html")
    assert done.code == exits.OK
    assert "317 of 529 sums a + b mod 23" in done.out
    assert re.search(r"epoch +100: training pairs 100.0%, held-out pairs", done.out)
    story = re.search(r"training pairs at epoch (\d+); generalised to the held-out pairs at epoch (\d+)", done.out)
    assert story
    memorised, generalised = map(int, story.groups())
    assert memorised < 50 < 100 < generalised
    board = re.search(r"^theory +predicted +measured +agrees\? *\n(.*?)\n\n", done.out, re.DOTALL | re.MULTILINE)
    assert board
    assert all(f"\n{name}" in f"\n{board[1]}" for name in ("Li₂", "CoGO", "AGF", "Geometry", "FACT"))
    assert f"generalised at epoch {generalised}" in board[1]
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert f"generalised to them at epoch {generalised}" in re.sub(r"</?a[^>]*>", "", page)
    assert all(question.split(",")[0] in page for question in report.QUESTIONS)
    for title in ("The forecast and the run", "Waves that hidden units learned", "A circle forms"):
        assert f'<p class="title">{title}</p>' in page
    assert not re.search(r"r_k|r_a0kk|test_accuracy ≥", re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL))
    assert not re.search(r"(src|href)=\"https?:", page)
    assert [path.name for path in folder.iterdir()] == ["page.html"]


def test_the_demo_is_figure_2_of_li2_with_the_lenses_of_the_five_papers():
    spec = runs.with_lenses(demo_spec(seed=2))
    assert (spec.task.group, spec.task.split.fraction, spec.model.width, spec.seed) == ("Z71", 0.4, 2048, 2)
    assert (spec.optimizer.name, spec.optimizer.learning_rate, spec.optimizer.weight_decay) == ("adam", 1e-3, 2e-4)
    assert spec.loss == flow.Loss()
    assert spec.lenses == ("norms", *runs.THEORY_LENSES)
    runs.check(spec)


def moment(step: int, train: float, test: float) -> flow.Progress:
    values = {"step": step, "train_accuracy": train, "test_accuracy": test}
    return flow.Progress(step, 200, 1.0, 2.0, 0, step, values)


def test_curves_grow_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    forecast = li2.predict("Z23", n=317, K=256, eta=317 * 1e-3 / 2, learning_rate=2e-3)
    with Live(forecast) as live:
        for step in (0, 50, 50, 100):
            live(moment(step, step / 100, 0.0))
    text = capsys.readouterr().out
    assert "held-out pairs, forecast" in text
    assert "accuracy:" in text
    assert "epoch 100: training pairs 100.0%, held-out pairs   0.0%" in text


def test_an_interrupted_demo_leaves_nothing(cli, folder, monkeypatch):
    def stop(specs, **options):
        raise flow.TrainingInterrupted(flow.Trajectory((), 0, 0.0, 0.0))

    monkeypatch.setattr(runs, "compute", stop)
    done = cli("demo", "--quick")
    assert done.code == exits.INTERRUPTED
    assert "interrupted: the demo saves nothing; `firstlight demo` starts it again" in done.err
    assert list(folder.iterdir()) == []
