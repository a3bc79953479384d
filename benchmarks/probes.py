"""The cost of a probed pass over a PyTorch model."""

from benchmarks._timing import best_seconds, result

__all__ = ["probe_pass_vs_plain", "probe_vs_per_sample"]


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
