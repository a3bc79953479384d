"""The cost of a probed pass over a PyTorch model, and of its result."""

import resource
import time

from benchmarks._timing import best_seconds, result

__all__ = [
    "probe_pass_vs_plain",
    "probe_result_gpt6x384",
    "probe_result_resnet18",
    "probe_step_resnet18",
    "probe_vs_per_sample",
]

IMAGES = 50_000
"""Training images of CIFAR-10, the pass that the average step is measured for."""


def _perceptron():
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    return model, [(torch.randn(256, 784), torch.randn(256, 10)) for _ in range(4)]


def _convolutional():
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 64, 10),
    )  # fmt: skip
    return model, [(torch.randn(64, 3, 32, 32), torch.randn(64, 10)) for _ in range(2)]


def _plain(model, batches):
    from torch import nn

    for x, y in batches:
        model.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()


def _probed(model, batches, **options):
    from torch import nn

    from firstlight.probes import FeatureProbe

    with FeatureProbe(model, nn.MSELoss(), weight_decay=1e-4, **options) as probe:
        for x, y in batches:
            probe.step(x, y)


def probe_pass_vs_plain() -> dict:
    """FACT, eNFA and AGOP by one random projection, relative to forward and backward; the slower of two networks."""
    ratios, extra = {}, {}
    for name, (model, batches) in {"perceptron": _perceptron(), "convolutional": _convolutional()}.items():
        contestants = {
            "plain": lambda m=model, b=batches: _plain(m, b),
            "probed": lambda m=model, b=batches: _probed(m, b, outputs=1),
            "exact": lambda m=model, b=batches: _probed(m, b, outputs="exact"),
            "backward": lambda m=model, b=batches: _probed(m, b, outputs=1, backward=True),
        }
        seconds = best_seconds(contestants, rounds=9)
        ratios[name] = seconds["probed"] / seconds["plain"]
        extra |= {f"{name}_{form}": seconds[form] / seconds["plain"] for form in ("probed", "exact", "backward")}
        extra[f"{name}_plain_seconds"] = seconds["plain"]
    worst = max(ratios, key=lambda name: ratios[name])
    return result(
        ratios[worst], "×", "lower", 2.5, (f"{worst}: plain pass, seconds", extra[f"{worst}_plain_seconds"]), **extra
    )


def probe_vs_per_sample() -> dict:
    """How many times slower the same matrices are with per-sample gradients of `torch.func`, for the perceptron."""
    import torch
    from torch import nn
    from torch.func import functional_call, grad, vmap

    model, batches = _perceptron()
    batches = [(x[:64], y[:64]) for x, y in batches[:2]]
    names = [name for name, p in model.named_parameters() if p.ndim == 2]
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(w, x, y):
        return nn.functional.mse_loss(functional_call(model, w, (x[None],))[0], y)

    def projected(w, x, r):
        return (functional_call(model, w, (x[None],))[0] * r).sum()

    def per_sample():
        totals = {}
        for x, y in batches:
            hidden = [x]
            with torch.no_grad():
                for layer in model:
                    hidden.append(layer(hidden[-1]))
            signs = torch.randint(0, 2, y.shape) * 2.0 - 1
            for function, second in ((loss, y), (projected, signs)):
                gradients = vmap(grad(function), (None, 0, 0))(weights, x, second)
                for name, h in zip(names, hidden[::2], strict=False):
                    # The gradient of a sample is ∂W = δhᵀ, so δ = ∂W h/‖h‖².
                    delta = torch.einsum(
                        "nkd,nd->nk", gradients[name], h / h.square().sum(1, keepdim=True).clamp_min(1e-30)
                    )
                    pulled = delta @ weights[name]
                    totals[name, function.__name__] = (gradients[name].mean(0), pulled.T @ pulled)
        return totals

    contestants = {"per sample": per_sample, "firstlight": lambda: _probed(model, batches, outputs=1)}
    seconds = best_seconds(contestants, rounds=5)
    return result(
        seconds["per sample"] / seconds["firstlight"],
        "×",
        "higher",
        10.0,
        ("torch.func per-sample gradients, seconds", seconds["per sample"]),
        firstlight_seconds=seconds["firstlight"],
        samples=sum(len(x) for x, _ in batches),
    )


def _resnet18():
    """ResNet-18 for ten classes, with its first convolution and pooling as for large images."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inside, out, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inside, out, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
            short = stride > 1 or inside != out
            self.downsample = (
                nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if short else None
            )

        def forward(self, x):
            h = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
            return torch.relu(h + (x if self.downsample is None else self.downsample(x)))

    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    torch.manual_seed(0)
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    blocks = [Block(*width) for width in [*widths, (512, 512, 1)]]
    model = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    return model, (torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,)))


def _transformer():
    """Six blocks of width 384 with causal attention, as GPT-2 has them, on 128 tokens of a vocabulary of 1024."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

        def forward(self, h):
            q, k, v = (part.unflatten(-1, (6, -1)).transpose(1, 2) for part in self.qkv(self.norm1(h)).chunk(3, -1))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + self.out(mixed.transpose(1, 2).flatten(2))
            return h + self.down(nn.functional.gelu(self.up(self.norm2(h))))

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(1024, 384), nn.Embedding(128, 384)
            self.blocks = nn.Sequential(*(Block(384) for _ in range(6)))
            self.head = nn.Linear(384, 1024, bias=False)
            self.head.weight = self.wte.weight

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1])
            return self.head(self.blocks(self.wte(tokens) + self.wpe(places)))

    torch.manual_seed(0)
    tokens = torch.randint(0, 1024, (4, 128))
    return Language(), (tokens, tokens.roll(-1, 1))


def _tokens_loss(logits, targets):
    from torch import nn

    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def probe_step_resnet18() -> dict:
    """An average step of a probe over CIFAR-10's 50 000 images by default, relative to a plain pass.

    Processor time on one thread, which does not depend on other work on the machine; batches of 64.
    """
    import torch
    from torch import nn

    from firstlight.probes import FeatureProbe

    model, batch = _resnet18()
    loss, threads, batches = nn.CrossEntropyLoss(), torch.get_num_threads(), -(-IMAGES // 64)
    model.eval()

    def plain():
        model.zero_grad(set_to_none=True)
        loss(model(batch[0]), batch[1]).backward()

    probes = {
        "default": FeatureProbe(model, loss, 1e-4, expected=batches),
        "one": FeatureProbe(model, loss, 1e-4, outputs=1),
        "exact": FeatureProbe(model, loss, 1e-4, outputs="exact"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ("plain", *probes)}
    torch.set_num_threads(1)
    try:
        plain()
        for step in range(16):
            for name in seconds:
                if name not in ("plain", "default") and step >= 3:
                    continue
                start = time.process_time()
                plain() if name == "plain" else probes[name].step(*batch)
                seconds[name].append(time.process_time() - start)
    finally:
        torch.set_num_threads(threads)
    mean = {name: sum(times[1:]) / len(times[1:]) for name, times in seconds.items()}
    first = seconds["default"][0]
    return result(
        (first + (batches - 1) * mean["default"]) / batches / mean["plain"],
        "×",
        "lower",
        2.5,
        ("plain pass, processor seconds", mean["plain"]),
        first_step=first / mean["plain"],
        one_projection=mean["one"] / mean["plain"],
        exact=mean["exact"] / mean["plain"],
    )


def _result_cost(model, batches, loss, **options) -> tuple[float, float]:
    """Return the processor seconds of `result()`, and by how much it raises the peak memory, over the model's size."""
    from firstlight.probes import FeatureProbe

    probe = FeatureProbe(model, loss, 1e-4, **options)
    for inputs, targets in batches:
        probe.step(inputs, targets)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    probe.result()
    seconds = time.process_time() - start
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return seconds, grown / sum(p.numel() * p.element_size() for p in model.parameters())


def probe_result_resnet18() -> dict:
    """Processor seconds of `result()` after two batches of 64; the growth of peak memory is in models."""
    from torch import nn

    model, batch = _resnet18()
    seconds, memory = _result_cost(model.eval(), [batch] * 2, nn.CrossEntropyLoss())
    return result(seconds, "s", "lower", 5.0, ("version 0.1, processor seconds", 49.0), models_of_memory=memory)


def probe_result_gpt6x384() -> dict:
    """Processor seconds of `result()` after two batches of 4 × 128 tokens."""
    model, batch = _transformer()
    seconds, memory = _result_cost(model.eval(), [batch] * 2, _tokens_loss, outputs=1)
    return result(seconds, "s", "lower", 3.0, ("version 0.1, processor seconds", 12.5), models_of_memory=memory)
