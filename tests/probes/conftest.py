"""Small tensors gain nothing from threads, and lose much where other workers have them."""

import importlib.util
import os
from pathlib import Path

import pytest
import torch

DECLARED = []
"""Operators live as long as the object that declared them."""


def declare_operators():
    """Declare what torchvision's compiled part would, where its wheel is for GPUs and this torch is not.

    Without it torchvision cannot be imported, nor timm, transformers and lightning, which import it if it is installed.
    """
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return
    try:
        torch.ops.load_library(str(Path(spec.origin).parent / "_C.so"))
    except OSError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        DECLARED.append(library)


if "FIRSTLIGHT_INTEGRATIONS" in os.environ:
    declare_operators()


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)
