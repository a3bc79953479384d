"""Two local processes with gloo, each with half of the batches, have the result of one process with all of them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from firstlight import probes
from tests.tolerances import rounding

SCRIPT = """
import sys
import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, {root!r})
from firstlight import probes
from tests.probes.test_distributed import batches, network

rank = int(sys.argv[1])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://{folder}/meeting", rank=rank, world_size=2)
model = nn.parallel.DistributedDataParallel(network())
options = {{"distributed": True, "keep_matrices": True, "outputs": "exact"}}
result = probes.probe(model, batches()[rank::2], nn.CrossEntropyLoss(), 0.1, **options)
result.save(f"{folder}/{{rank}}.safetensors")
default = probes.probe(model, batches()[rank::2], nn.CrossEntropyLoss(), 0.1, distributed=True)
default.save(f"{folder}/default{{rank}}.safetensors")
dist.destroy_process_group()
"""


def network():
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(96, 8), nn.Tanh(), nn.Linear(8, 3)
    )


def batches():
    torch.manual_seed(1)
    return [(torch.randn(n, 2, 4, 4), torch.randint(0, 3, (n,))) for n in (8, 12, 8, 4)]


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
@pytest.mark.slow
def test_two_processes_have_the_result_of_one(tmp_path):
    script = SCRIPT.format(root=str(Path(__file__).parents[2]), folder=tmp_path)
    environment = {"GLOO_SOCKET_IFNAME": "lo", "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(rank)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    try:
        errors = [worker.communicate(timeout=240)[1] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], errors
    options = {"keep_matrices": True, "outputs": "exact"}
    alone = probes.probe(network(), batches(), torch.nn.CrossEntropyLoss(), 0.1, **options)
    for rank in (0, 1):
        result = probes.ProbeResult.load(tmp_path / f"{rank}.safetensors")
        assert result.samples == alone.samples == 32
        for layer in alone.layers:
            for name in ("FACT", "AGOP", "eNFA"):
                expected, actual = layer.matrices[name], result[layer.name].matrices[name]
                assert np.abs(actual - expected).max() < rounding(np.abs(expected).max(), 32 * 16, dtype=np.float32)
        default = probes.ProbeResult.load(tmp_path / f"default{rank}.safetensors")
        for layer in default.layers:
            assert layer.agop_error <= 0.05
            # FACT and eNFA come from all samples, whatever AGOP uses.
            assert layer.alignments["eNFA"] == pytest.approx(alone[layer.name].alignments["eNFA"], abs=1e-5)
    # Both processes hold the whole, and agree to the bit.
    pair = [probes.ProbeResult.load(tmp_path / f"{rank}.safetensors").table() for rank in (0, 1)]
    assert pair[0].equals(pair[1])
