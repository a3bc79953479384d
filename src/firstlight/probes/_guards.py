"""Checks of what a user passes in, and contexts that leave random states as they were."""

import contextlib
import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

SUMS = "a loss that adds up its samples"
MEANS = "a loss that averages its samples"


def require_loss(loss_fn: Any) -> None:
    """Raise unless the loss is None or a function of outputs and targets."""
    if inspect.isclass(loss_fn):
        raise TypeError(f"loss_fn must be a function or an instance, got the class {loss_fn.__name__}; add ()")
    if loss_fn is not None and not callable(loss_fn):
        raise TypeError(
            f"loss_fn must be a function loss_fn(outputs, targets), got {loss_fn!r}; for example torch.nn.MSELoss()"
        )


def require_reduction(
    loss_fn: Callable[[Any, Any], torch.Tensor], outputs: Any, targets: Any, loss: float, reduction: str
) -> None:
    """Raise if the loss adds samples although `reduction` says that it averages them, or the other way round.

    The loss of a batch is compared with the losses of its halves. A loss that cannot take a part of a batch, or whose
    halves agree with neither, is accepted.
    """
    named = getattr(loss_fn, "reduction", None)
    kind = {"sum": SUMS, "mean": MEANS}.get(named) if isinstance(named, str) else None
    kind = kind or _by_halves(loss_fn, outputs, targets, loss)
    if reduction == "mean" and kind == SUMS:
        raise ValueError(
            f"reduction='mean' requires {MEANS}, got {SUMS}; give reduction='sum' if the training sums over the data "
            "set, or reduction='steps' if it averages such sums over batches"
        )
    if reduction == "sum" and kind == MEANS:
        raise ValueError(f"reduction='sum' requires {SUMS}, got {MEANS}; give reduction='mean'")


def _by_halves(loss_fn: Callable[[Any, Any], torch.Tensor], outputs: Any, targets: Any, loss: float) -> str | None:
    if not (isinstance(outputs, torch.Tensor) and isinstance(targets, torch.Tensor)):
        return None
    n = outputs.shape[0] if outputs.ndim else 0
    if n < 2 or targets.ndim == 0 or targets.shape[0] != n or loss == 0:
        return None
    cut = n // 2
    try:
        with torch.no_grad():
            first = float(loss_fn(outputs[:cut], targets[:cut]))
            second = float(loss_fn(outputs[cut:], targets[cut:]))
    except (ValueError, RuntimeError, IndexError, TypeError):
        return None
    total, mean = first + second, (cut * first + (n - cut) * second) / n
    near_total, near_mean = (abs(loss - value) <= 1e-3 * abs(loss) for value in (total, mean))
    return None if near_total == near_mean else SUMS if near_total else MEANS


def target_weight(loss_fn: Any, targets: Any) -> float | None:
    """Return the sum of weights by which a mean cross-entropy divides; None for another loss or other targets.

    A target equal to `ignore_index` counts nothing, and any other target counts the weight of its class.
    """
    kinds = (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss)
    if not isinstance(loss_fn, kinds) or not isinstance(targets, torch.Tensor) or targets.is_floating_point():
        return None
    counted = targets[targets != loss_fn.ignore_index]
    return float(counted.numel() if loss_fn.weight is None else loss_fn.weight[counted].sum())


def label_weight(logits: torch.Tensor, labels: Any, loss: float) -> float | None:
    """Return the number of labels that a mean cross-entropy averages over; None if the loss is another one.

    Causal models predict the next token, so their first label does not count. The form that gives the model's own loss
    is used.
    """
    if not isinstance(labels, torch.Tensor) or labels.is_floating_point() or labels.shape != logits.shape[:-1]:
        return None
    shifted = (logits[..., :-1, :], labels[..., 1:]) if labels.ndim > 1 else (logits, labels)
    for scores, wanted in (shifted, (logits, labels)):
        count = int((wanted != -100).sum())
        if count == 0:
            continue
        with torch.no_grad():
            own = torch.nn.functional.cross_entropy(scores.flatten(0, -2).float(), wanted.flatten())
        if abs(float(own) - loss) <= 1e-3 * abs(loss):
            return float(count)
    return None


@contextlib.contextmanager
def same_random_states(*holders: Any) -> Iterator[None]:
    """Restore the random states of torch, NumPy and Python, and of the generators that the holders own."""
    generators = _generators(holders)
    states = [(generator, _state(generator)) for generator in generators]
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
            for generator, state in states:
                _restore(generator, state)


def seed_all(seed: int) -> None:
    """Seed the random numbers of torch, NumPy and Python."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    random.seed(seed)


def reading(batches: Iterable[Any]) -> contextlib.AbstractContextManager[None]:
    """Restore all random states that iterating a `DataLoader` or data set may advance."""
    names = ("sampler", "batch_sampler", "dataset")
    holders = [batches, *(getattr(batches, name, None) for name in names)]
    holders.append(getattr(getattr(batches, "batch_sampler", None), "sampler", None))
    return same_random_states(*holders)


def _generators(holders: Iterable[Any]) -> list[Any]:
    kinds = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
    seen: dict[int, Any] = {}
    for holder in holders:
        own = vars(holder).values() if hasattr(holder, "__dict__") else ()
        for value in own:
            if isinstance(value, kinds):
                seen[id(value)] = value
    return list(seen.values())


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


def taken(batch: Any, axis: int, count: int, rows: torch.Tensor) -> tuple[Any, bool]:
    """Return some samples of a batch in any structure, and whether any tensor was cut."""
    if isinstance(batch, torch.Tensor):
        for along in dict.fromkeys((axis, 0)):
            if batch.ndim > along and batch.shape[along] == count:
                return batch.index_select(along, rows.to(batch.device)), True
        return batch, False
    if isinstance(batch, Mapping):
        parts = {key: taken(value, axis, count, rows) for key, value in batch.items()}
        return {key: part for key, (part, _) in parts.items()}, any(cut for _, cut in parts.values())
    if isinstance(batch, tuple | list):
        parts = [taken(value, axis, count, rows) for value in batch]
        return type(batch)(part for part, _ in parts), any(cut for _, cut in parts)
    return batch, False
