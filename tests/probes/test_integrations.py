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


def test_hugging_face(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    model = transformers.GPT2LMHeadModel(config)
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 11, (32, 6))]
    batch = {key: torch.stack([row[key] for row in rows]) for key in rows[0]}
    callback = probes.huggingface_callback([batch], every=4)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=8, per_device_train_batch_size=8, weight_decay=0.1, optim="adamw_torch",
        use_cpu=True, report_to=[], save_strategy="no", logging_steps=8, disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(model, arguments, train_dataset=rows, callbacks=[callback])
    trainer.train()
    found = callback.watch.last
    names = [layer.name for layer in found.layers]
    assert "transformer.h.0.attn.c_attn.weight" in names
    assert not found.untreated
    # The embedding is the output layer's weight too.
    assert found["transformer.wte.weight"].kind.startswith(("linear + embedding", "embedding + linear"))
    assert found["transformer.wte.weight"].rule == "decoupled"
    logged = [entry for entry in trainer.state.log_history if "features/transformer.wte.weight/√AGOP" in entry]
    assert [entry["step"] for entry in logged] == [4, 8]


def test_a_compiled_model_is_probed_as_it_was_written():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    batches = [(torch.randn(8, 4), torch.randn(8, 1))]
    plain = probes.probe(model, batches, nn.MSELoss(), 0.1)
    found = probes.probe(torch.compile(model), batches, nn.MSELoss(), 0.1)
    assert found.table().equals(plain.table())
