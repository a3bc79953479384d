"""`firstlight probe` on a folder of checkpoints with a factory of the user's."""

import pytest

torch = pytest.importorskip("torch")

FACTORY = """
import torch
from torch import nn

def make_model():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))

def setup():
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 3))
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    return {"make_model": make_model, "loader": loader, "loss": nn.MSELoss(), "weight_decay": 0.1}

def broken():
    raise RuntimeError("no data here")

def wrong_loss():
    return setup() | {"loss": lambda outputs, targets: outputs["logits"]}

def other_model():
    return setup() | {"make_model": lambda: nn.Linear(9, 3)}

def nothing():
    return 3
"""


@pytest.fixture
def run(folder):
    (folder / "my_run.py").write_text(FACTORY)
    (folder / "run1").mkdir()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
    for step in (0, 5, 10):
        torch.save(model.state_dict(), folder / "run1" / f"step_{step}.pt")
        for parameter in model.parameters():
            parameter.data.mul_(1.3)
    return folder


def test_a_folder_becomes_a_page_and_a_record_and_a_second_call_probes_nothing(cli, run):
    done = cli("probe", "run1", "--factory", "my_run.py:setup")
    assert done.code == 0, done.err
    assert "3 checkpoints from steps 0 to 10, 2 layers, each probed on 32 samples." in done.out
    assert "0.weight" in done.out
    page = (run / "run1.probe.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    for words in ("What the columns mean", "Each layer over training", "Digest of the weights", "learning"):
        assert words in page
    stored = sorted((run / ".firstlight" / "probes").iterdir())
    assert len(stored) == 3
    changed = [path.stat().st_mtime_ns for path in stored]
    # The loader shuffles; it is seeded before the factory is called, so the stored results still fit.
    again = cli("probe", "run1", "--factory", "my_run.py:setup", "--json")
    assert [path.stat().st_mtime_ns for path in sorted((run / ".firstlight" / "probes").iterdir())] == changed
    assert [checkpoint["step"] for checkpoint in again.json["checkpoints"]] == [0, 5, 10]
    assert cli("report", "all.html").code == 0
    assert "3 checkpoints from steps 0 to 10" in (run / "all.html").read_text(encoding="utf-8")


def test_equal_and_broken_checkpoints_change_the_exit_code(cli, run):
    (run / "run1" / "step_20.pt").write_bytes((run / "run1" / "step_0.pt").read_bytes())
    (run / "run1" / "step_30.pt").write_bytes(b"cut off")
    done = cli("probe", "run1", "--factory", "my_run.py:setup")
    assert done.code == 1
    assert "step_20.pt and step_0.pt hold exactly the same weights" in done.out
    assert "step_30.pt was left out" in done.out


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("my_run.py:broken", "--factory my_run.py:broken raised RuntimeError: no data here (my_run.py, line 14)"),
        ("my_run.py:nothing", "must return a dict with make_model and loader"),
        ("my_run.py:absent", "my_run.py has no function absent"),
        ("nowhere.py:setup", "there is no file nowhere.py"),
        ("no_such_module:setup", "importing no_such_module raised ModuleNotFoundError"),
        ("setup", "module:function or file.py:function is required, got 'setup'"),
        ("my_run.py:wrong_loss", "the code of --factory my_run.py:wrong_loss raised"),
        ("my_run.py:other_model", "make_model must build the trained model"),
    ],
)
def test_mistakes_of_the_user_are_one_line(cli, run, factory, words):
    done = cli("probe", "run1", "--factory", factory)
    assert (done.code, words in done.err) == (2, True), done.err
    assert "Traceback" not in done.err


def test_a_folder_that_is_not_there(cli, run):
    done = cli("probe", "absent", "--factory", "my_run.py:setup")
    assert (done.code, "there is no folder absent" in done.err) == (2, True)
