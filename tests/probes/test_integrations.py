"""The callbacks inside the real libraries; run by `make test-integrations`, skipped where they are not installed."""

import os

import pytest
import torch
from torch import nn

from firstlight import probes

# These libraries take longer to import than most tests to run.
pytestmark = pytest.mark.skipif("FIRSTLIGHT_INTEGRATIONS" not in os.environ, reason="run with make test-integrations")


def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, index):
            return nn.functional.mse_loss(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-2)

    x = torch.randn(64, 4)
    data = torch.utils.data.TensorDataset(x, x[:, :1] * x[:, 1:2])
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    callback = probes.lightning_callback(nn.functional.mse_loss, loader, every=10)
    trainer = lightning.Trainer(
        max_epochs=5, accelerator="cpu", callbacks=[callback], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Module(), loader)
    assert callback.watch.history()["step"].unique().tolist() == [10, 20]
    assert callback.watch.last["net.0.weight"].budget == pytest.approx(1e-2 * 0.1 * 20 / 0.1)
    assert "features/net.0.weight/FACT" in trainer.callback_metrics


def language_model(transformers):
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 11, (32, 6))]
    batch = {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
    return transformers.GPT2LMHeadModel(config), rows, batch


@pytest.mark.parametrize("given", [False, True])
def test_hugging_face_logs_reach_tensorboard(tmp_path, given):
    """The callback logs through the Trainer; TensorBoard's own event files are read back."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model, rows, batch = language_model(transformers)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=8, per_device_train_batch_size=8, weight_decay=0.1, optim="adamw_torch",
        use_cpu=True, report_to=["tensorboard"], save_strategy="no", logging_steps=8, disable_tqdm=True,
    )  # fmt: skip
    callback = probes.huggingface_callback([batch], every=4)
    trainer = transformers.Trainer(model, arguments, train_dataset=rows, callbacks=None if given else [callback])
    if given:
        callback = probes.huggingface_callback([batch], every=4, trainer=trainer)
        trainer.add_callback(callback)
    trainer.train()
    last = callback.watch.last
    assert "transformer.h.0.attn.c_attn.weight" in [layer.name for layer in last.layers]
    assert not last.untreated
    # The embedding is the output layer's weight too.
    assert last["transformer.wte.weight"].kind.startswith(("linear + embedding", "embedding + linear"))
    assert last["transformer.wte.weight"].rule == "decoupled"
    logged = [entry for entry in trainer.state.log_history if "features/transformer.wte.weight/√AGOP" in entry]
    assert [entry["step"] for entry in logged] == [4, 8]
    # transformers puts them where the trainer logs, in `runs` or in TENSORBOARD_LOGGING_DIR.
    (file,) = tmp_path.rglob("events.out.tfevents*")
    written = events.EventAccumulator(str(file.parent))
    written.Reload()
    (tag,) = [tag for tag in written.Tags()["scalars"] if tag.endswith("features/transformer.wte.weight/√AGOP")]
    scalars = written.Scalars(tag)
    assert [event.step for event in scalars] == [4, 8]
    assert scalars[-1].value == pytest.approx(last["transformer.wte.weight"].alignments["√AGOP"], rel=1e-6)
    assert any(tag.endswith("features/transformer.wte.weight/converged") for tag in written.Tags()["scalars"])


def test_lightning_logs_reach_tensorboard(tmp_path):
    lightning = pytest.importorskip("lightning")
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    loggers = pytest.importorskip("lightning.pytorch.loggers")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 1)

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, index):
            return nn.functional.mse_loss(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, weight_decay=1e-2)

    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    callback = probes.lightning_callback(nn.functional.mse_loss, loader, every=4)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", callbacks=[callback], logger=loggers.TensorBoardLogger(str(tmp_path)),
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=1,
    )  # fmt: skip
    trainer.fit(Module(), loader)
    (file,) = tmp_path.rglob("events.out.tfevents*")
    written = events.EventAccumulator(str(file.parent))
    written.Reload()
    assert len(written.Scalars("features/net.weight/FACT")) == 2


def test_accelerate(tmp_path):
    """A prepared model, optimizer and loader give what the plain ones give."""
    accelerate = pytest.importorskip("accelerate")
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))

    def trained(prepare):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
        loader = torch.utils.data.DataLoader(data, batch_size=16)
        model, optimizer, loader = prepare(model, optimizer, loader)
        watch = probes.Watch(model, nn.MSELoss(), loader, optimizer, every=8)
        for _ in range(2):
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
                watch.step()
        return watch.last

    plain = trained(lambda *parts: parts)
    prepared = trained(accelerate.Accelerator(cpu=True).prepare)
    assert {layer.rule for layer in prepared.layers} == {"decoupled"}
    assert prepared.table().equals(plain.table())


def test_a_compiled_model_is_probed_as_it_was_written():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    batches = [(torch.randn(8, 4), torch.randn(8, 1))]
    plain = probes.probe(model, batches, nn.MSELoss(), 0.1)
    found = probes.probe(torch.compile(model), batches, nn.MSELoss(), 0.1)
    assert found.table().equals(plain.table())
