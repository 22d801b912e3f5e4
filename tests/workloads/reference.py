"""A decoder in numpy, float64: one token of each sequence behind a cache that is there, or whole prompts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.numbers import EPS, Numbers


def decode(network: Architecture, numbers: Numbers, ids: list[int], context: int) -> np.ndarray:
    """float64[vocabulary, sequence]: the logits."""
    d, heads = network.hidden, network.attention
    assert isinstance(heads, Heads)

    def matrix(place: str, name: str, out: int, features: int) -> np.ndarray:
        return numbers.matrix(place, name, out, features).astype(np.float64)

    x = matrix("start", "embedding", network.vocabulary, d)[ids]
    if network.positions:
        x = x + matrix("start", "positions", network.positions, d)[context - 1]
    for layer, kind in enumerate(network.layer_kinds):
        place = str(layer)
        seen = min(context, kind.window or context)
        attended = x + attend(network, numbers, place, normal(network, numbers, place, "input_norm", x), context, seen)
        name = "mlp_norm" if network.norms.per_layer > 1 else "input_norm"
        x = attended + mlp(
            network, numbers, place, normal(network, numbers, place, name, x if network.parallel else attended)
        )
    x = normal(network, numbers, "end", "final_norm", x)
    head = ("start", "embedding") if network.tied else ("end", "lm_head")
    return matrix(*head, network.vocabulary, d) @ x.T


def prefill(network: Architecture, numbers: Numbers, ids: list[int], count: int) -> np.ndarray:
    """float64[vocabulary, sequence]: the logits of the last token of each of `count` prompts, one after the other in `ids`."""
    d, length = network.hidden, len(ids) // count

    def matrix(place: str, name: str, out: int, features: int) -> np.ndarray:
        return numbers.matrix(place, name, out, features).astype(np.float64)

    x = matrix("start", "embedding", network.vocabulary, d)[ids]
    if network.positions:
        x = x + np.tile(matrix("start", "positions", network.positions, d)[:length], (count, 1))
    for layer, kind in enumerate(network.layer_kinds):
        place = str(layer)
        read = normal(network, numbers, place, "input_norm", x)
        attended = x + attend_prompt(network, numbers, place, read, length, kind.window)
        name = "mlp_norm" if network.norms.per_layer > 1 else "input_norm"
        x = attended + mlp(
            network, numbers, place, normal(network, numbers, place, name, x if network.parallel else attended)
        )
    x = normal(network, numbers, "end", "final_norm", x[length - 1 :: length])
    head = ("start", "embedding") if network.tied else ("end", "lm_head")
    return matrix(*head, network.vocabulary, d) @ x.T


def attend_prompt(
    network: Any, numbers: Numbers, place: str, x: np.ndarray, length: int, window: int | None
) -> np.ndarray:
    """Attention of each prompt on its own, with the whole square of scores."""
    heads, count = network.attention, len(x) // length
    h, k, e = heads.queries, heads.keys, heads.size

    def project(name: str, of: int) -> np.ndarray:
        return product(numbers, place, name, x, of * e, heads.bias).reshape(count, length, of, e)

    def turned(y: np.ndarray, name: str) -> np.ndarray:
        if heads.normalised:
            y = y / np.sqrt((y * y).mean(-1, keepdims=True) + EPS) * numbers.vector(place, name, e, 1.0)
        return np.stack([turn(y[:, at], network.rotary, at) for at in range(length)], axis=1)

    q, keys, values = turned(project("q", h), "q_norm"), turned(project("k", k), "k_norm"), project("v", k)
    keys, values = (np.repeat(y, h // k, axis=2) for y in (keys, values))
    scores = np.einsum("sqhe,sche->shqc", q, keys) / np.sqrt(e)
    ahead = np.arange(length)[None, :] - np.arange(length)[:, None]
    scores[..., (ahead > 0) | (ahead <= -(window or length))] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = np.einsum("shqc,sche->sqhe", weights, values).reshape(len(x), h * e)
    return product(numbers, place, "o", out, network.hidden, heads.out_bias)


def normal(network: Architecture, numbers: Numbers, place: str, name: str, x: np.ndarray) -> np.ndarray:
    scale = numbers.vector(place, name, x.shape[1], 1.0)
    if network.norms.kind == "rms":
        return x / np.sqrt((x * x).mean(1, keepdims=True) + EPS) * scale
    shift = numbers.vector(place, f"{name}.shift", x.shape[1])
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + EPS) * scale + shift


def product(numbers: Numbers, place: str, name: str, x: np.ndarray, out: int, bias: bool) -> np.ndarray:
    y = x @ numbers.matrix(place, name, out, x.shape[1]).astype(np.float64).T
    return y + numbers.vector(place, f"{name}.bias", out) if bias else y


def attend(network: Any, numbers: Numbers, place: str, x: np.ndarray, context: int, seen: int) -> np.ndarray:
    heads, batch = network.attention, len(x)
    h, k, e = heads.queries, heads.keys, heads.size
    q = product(numbers, place, "q", x, h * e, heads.bias).reshape(batch, h, e)
    new_k = product(numbers, place, "k", x, k * e, heads.bias).reshape(batch, k, e)
    new_v = product(numbers, place, "v", x, k * e, heads.bias).reshape(batch, k, e)
    if heads.normalised:
        q, new_k = (
            y / np.sqrt((y * y).mean(-1, keepdims=True) + EPS) * numbers.vector(place, name, e, 1.0)
            for y, name in ((q, "q_norm"), (new_k, "k_norm"))
        )
    q, new_k = (turn(y, network.rotary, context - 1) for y in (q, new_k))
    old_k, old_v = (numbers.draw(place, name, (k, batch, seen - 1, e)) for name in ("keys", "values"))
    keys = np.concatenate([old_k, new_k.swapaxes(0, 1)[:, :, None]], axis=2)
    values = np.concatenate([old_v, new_v.swapaxes(0, 1)[:, :, None]], axis=2)
    scores = np.einsum("bkge,kbce->bkgc", q.reshape(batch, k, h // k, e), keys) / np.sqrt(e)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = np.einsum("bkgc,kbce->bkge", weights, values).reshape(batch, h * e)
    return product(numbers, place, "o", out, network.hidden, heads.out_bias)


def turn(x: np.ndarray, rotated: int, position: int) -> np.ndarray:
    """Rotate the first elements of a head by the angles of a position, halves against each other."""
    if not rotated:
        return x
    angle = position * 10000.0 ** (-np.arange(0, rotated, 2) / rotated)
    first, second, rest = np.split(x, [rotated // 2, rotated], axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin, rest], axis=-1)


def mlp(network: Any, numbers: Numbers, place: str, x: np.ndarray) -> np.ndarray:
    one = network.mlp
    up = product(numbers, place, "up", x, one.inner, one.bias)
    if one.gated:
        gate = product(numbers, place, "gate", x, one.inner, one.bias)
        up = activate(gate, one.activation) * up
    else:
        up = activate(up, one.activation)
    return product(numbers, place, "down", up, network.hidden, one.bias)


def activate(x: np.ndarray, name: str) -> np.ndarray:
    if name == "silu":
        return x / (1 + np.exp(-x))
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
