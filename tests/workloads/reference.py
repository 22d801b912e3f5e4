"""A decoder in numpy, float64: one token of each sequence behind a cache that is there, or whole prompts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.numbers import EPS, Numbers
from kernbench.workloads.routing import Routing


def decode(
    network: Architecture,
    numbers: Numbers,
    ids: list[int],
    context: int,
    routings: dict[int, Routing] | None = None,
) -> np.ndarray:
    """float64[vocabulary, sequence]: the logits; the experts that the routers choose go to `routings` by layer."""
    d = network.hidden

    def matrix(place: str, name: str, out: int, features: int) -> np.ndarray:
        return numbers.matrix(place, name, out, features).astype(np.float64)

    x = matrix("start", "embedding", network.vocabulary, d)[ids] * network.embedding_scale
    if network.positions:
        x = x + matrix("start", "positions", network.positions, d)[context - 1]
    for layer, kind in enumerate(network.layer_kinds):
        place = str(layer)
        seen = min(context, kind.window or context)
        read = normal(network, numbers, place, "input_norm", x)
        of_layer = attend if isinstance(network.attention, Heads) else attend_latent
        made = of_layer(network, numbers, place, read, context, seen)
        attended = x + behind(network, numbers, place, "attention_after", made)
        name = "mlp_norm" if network.norms.per_layer > 1 else "input_norm"
        read = normal(network, numbers, place, name, x if network.parallel else attended)
        if kind.sparse and network.experts:
            made, chosen = mixture(network, numbers, place, read)
            if routings is not None:
                routings[layer] = Routing(tuple(tuple(int(one) for one in each) for each in chosen))
        else:
            made = mlp(network, numbers, place, read)
        x = attended + behind(network, numbers, place, "mlp_after", made)
    x = normal(network, numbers, "end", "final_norm", x)
    head = ("start", "embedding") if network.tied else ("end", "lm_head")
    return cap(matrix(*head, network.vocabulary, d) @ x.T, network.soft_caps[1])


def prefill(network: Architecture, numbers: Numbers, ids: list[int], count: int, before: int = 0) -> np.ndarray:
    """float64[vocabulary, sequence]: the logits of the last token of each of `count` prompts, one after the other in `ids`.

    Behind `before` tokens of each that the cache has.
    """
    d, length = network.hidden, len(ids) // count

    def matrix(place: str, name: str, out: int, features: int) -> np.ndarray:
        return numbers.matrix(place, name, out, features).astype(np.float64)

    x = matrix("start", "embedding", network.vocabulary, d)[ids] * network.embedding_scale
    if network.positions:
        x = x + np.tile(matrix("start", "positions", network.positions, d)[before : before + length], (count, 1))
    for layer, kind in enumerate(network.layer_kinds):
        place = str(layer)
        read = normal(network, numbers, place, "input_norm", x)
        made = attend_prompt(network, numbers, place, read, length, before, kind.window)
        attended = x + behind(network, numbers, place, "attention_after", made)
        name = "mlp_norm" if network.norms.per_layer > 1 else "input_norm"
        made = mlp(network, numbers, place, normal(network, numbers, place, name, x if network.parallel else attended))
        x = attended + behind(network, numbers, place, "mlp_after", made)
    x = normal(network, numbers, "end", "final_norm", x[length - 1 :: length])
    head = ("start", "embedding") if network.tied else ("end", "lm_head")
    return cap(matrix(*head, network.vocabulary, d) @ x.T, network.soft_caps[1])


def encode_text(network: Architecture, numbers: Numbers, ids: list[int], count: int) -> np.ndarray:
    """float64[hidden, sequence]: what the pooler makes of the first token of each of `count` sentences."""
    d, length = network.hidden, len(ids) // count

    def table(name: str, rows: int) -> np.ndarray:
        return numbers.matrix("start", name, rows, d).astype(np.float64)

    x = table("embedding", network.vocabulary)[ids] + table("token_types", network.token_types)[0]
    x = x + np.tile(table("positions", network.positions)[:length], (count, 1))
    x = normal(network, numbers, "start", "embedding_norm", x)
    for layer in range(network.layers):
        place = str(layer)
        x = x + attend_prompt(network, numbers, place, x, length, 0, None)
        x = normal(network, numbers, place, "attention_after", x)
        x = normal(network, numbers, place, "mlp_after", x + mlp(network, numbers, place, x))
    return np.tanh(product(numbers, "end", "pooler", x[::length], d, True)).T


def encode_images(network: Architecture, numbers: Numbers, count: int) -> np.ndarray:
    """float64[class, image]: the scores of the classes of each of `count` images, by the class token before its patches."""
    d, patches = network.hidden, network.patches
    assert patches is not None
    shape = (count, patches.tokens, patches.channels * patches.patch**2)
    pixels = numbers.draw("start", "pixels", shape)[:, 1:].astype(np.float64)
    x = np.stack([product(numbers, "start", "patches", image, d, True) for image in pixels])
    token = np.broadcast_to(numbers.vector("start", "class_token", d), (count, 1, d))
    x = np.concatenate([token, x], axis=1) + numbers.matrix("start", "positions", network.positions, d)
    x = x.reshape(-1, d)
    for layer in range(network.layers):
        place = str(layer)
        read = normal(network, numbers, place, "input_norm", x)
        x = x + attend_prompt(network, numbers, place, read, patches.tokens, 0, None)
        x = x + mlp(network, numbers, place, normal(network, numbers, place, "mlp_norm", x))
    x = normal(network, numbers, "end", "final_norm", x[:: patches.tokens])
    return product(numbers, "end", "classes", x, patches.classes, True).T


def attend_prompt(
    network: Any, numbers: Numbers, place: str, x: np.ndarray, length: int, before: int, window: int | None
) -> np.ndarray:
    """Attention of each prompt on its own, with the whole square of scores."""
    heads, count = network.attention, len(x) // length
    h, k, e = heads.queries, heads.keys, heads.size

    def project(name: str, of: int) -> np.ndarray:
        return product(numbers, place, name, x, of * e, heads.bias).reshape(count, length, of, e)

    def turned(y: np.ndarray, name: str) -> np.ndarray:
        if heads.normalised:
            y = y / np.sqrt((y * y).mean(-1, keepdims=True) + EPS) * numbers.vector(place, name, e, 1.0)
        return np.stack([turn(y[:, at], network.rotary, before + at) for at in range(length)], axis=1)

    q, keys, values = turned(project("q", h), "q_norm"), turned(project("k", k), "k_norm"), project("v", k)
    kept = min(before, window - 1) if window else before
    old = (numbers.draw(place, name, (k, count, kept, e)).transpose(1, 2, 0, 3) for name in ("keys", "values"))
    keys, values = (np.concatenate(pair, axis=1) for pair in zip(old, (keys, values), strict=True))
    keys, values = (np.repeat(y, h // k, axis=2) for y in (keys, values))
    scores = np.einsum("sqhe,sche->shqc", q, keys) / np.sqrt(e)
    scores = cap(scores, network.soft_caps[0])
    if network.causal:
        ahead = np.arange(-kept, length)[None, :] - np.arange(length)[:, None]
        scores[..., (ahead > 0) | (ahead <= -(window or kept + length))] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = np.einsum("shqc,sche->sqhe", weights, values).reshape(len(x), h * e)
    return product(numbers, place, "o", out, network.hidden, heads.out_bias)


def behind(network: Architecture, numbers: Numbers, place: str, name: str, x: np.ndarray) -> np.ndarray:
    """What a block adds, normalised if its kind is."""
    return normal(network, numbers, place, name, x) if network.norms.per_layer == 4 else x


def cap(x: np.ndarray, most: float) -> np.ndarray:
    return most * np.tanh(x / most) if most else x


def normal(network: Architecture, numbers: Numbers, place: str, name: str, x: np.ndarray) -> np.ndarray:
    scale = numbers.vector(place, name, x.shape[1], 1.0)
    if network.norms.kind == "rms":
        return x / np.sqrt((x * x).mean(1, keepdims=True) + EPS) * scale
    shift = numbers.vector(place, f"{name}.shift", x.shape[1])
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + EPS) * scale + shift


def product(numbers: Numbers, place: str, name: str, x: np.ndarray, out: int, bias: bool) -> np.ndarray:
    y = x @ numbers.matrix(place, name, out, x.shape[-1]).astype(np.float64).T
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
    scores = cap(scores, network.soft_caps[0])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = np.einsum("bkgc,kbce->bkge", weights, values).reshape(batch, h * e)
    return product(numbers, place, "o", out, network.hidden, heads.out_bias)


def attend_latent(network: Any, numbers: Numbers, place: str, x: np.ndarray, context: int, seen: int) -> np.ndarray:
    """As it is trained: rows of the cache become keys and values of all heads."""
    a, batch = network.attention, len(x)
    if a.query_rank is None:
        q = product(numbers, place, "q", x, a.queries * (a.plain + a.rotary), False)
    else:
        inner = normal(network, numbers, place, "q_a_norm", product(numbers, place, "q_a", x, a.query_rank, False))
        q = product(numbers, place, "q_b", inner, a.queries * (a.plain + a.rotary), False)
    q = q.reshape(batch, a.queries, a.plain + a.rotary)
    q_turned = turn(q[..., a.plain :], a.rotary, context - 1)
    new = product(numbers, place, "kv_a", x, a.rank + a.rotary, False)
    new_row = normal(network, numbers, place, "kv_a_norm", new[:, : a.rank])
    new_turned = turn(new[:, a.rank :], a.rotary, context - 1)
    rows, turned = (
        np.concatenate([numbers.draw(place, name, (batch, seen - 1, new.shape[1])), new[:, None]], axis=1)
        for name, new in (("latent", new_row), ("rotary", new_turned))
    )
    both = product(numbers, place, "kv_b", rows, a.queries * (a.plain + a.value), False)
    keys, values = np.split(both.reshape(batch, seen, a.queries, -1), [a.plain], axis=-1)
    scores = np.einsum("bhe,bche->bhc", q[..., : a.plain], keys) + np.einsum("bhe,bce->bhc", q_turned, turned)
    weights = softmax(scores / np.sqrt(a.plain + a.rotary))
    out = np.einsum("bhc,bche->bhe", weights, values).reshape(batch, -1)
    return product(numbers, place, "o", out, network.hidden, False)


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


def mixture(network: Any, numbers: Numbers, place: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The experts of each token and what they make of it, as the code of transformers has it for each family."""
    by, kind = network.experts, network.family
    logits = product(numbers, place, "router", x, by.count, False)
    scores = 1 / (1 + np.exp(-logits)) if kind == "deepseek_v3" else softmax(logits)
    ranked = scores
    if kind.startswith("deepseek") and by.groups > 1:
        grouped = scores.reshape(len(x), by.groups, -1)
        best = np.sort(grouped, axis=-1)[..., -2:].sum(-1) if kind == "deepseek_v3" else grouped.max(-1)
        kept = np.argsort(-best, axis=1)[:, : by.groups_chosen]
        mask = np.zeros(best.shape)
        np.put_along_axis(mask, kept, 1.0, axis=1)
        ranked = (grouped * mask[:, :, None]).reshape(len(x), -1)
    chosen = np.argsort(-ranked, axis=1)[:, : by.chosen]
    shares = np.take_along_axis(scores, chosen, axis=1)
    if by.normalised:
        shares = shares / shares.sum(1, keepdims=True)
    shares = shares * by.factor
    y = np.zeros_like(x)
    for token, experts in enumerate(chosen):
        for share, expert in zip(shares[token], experts, strict=True):
            y[token] += (
                share * one_expert(network, numbers, place, f"expert{expert}", x[token : token + 1], by.inner)[0]
            )
    if by.shared:
        shared = one_expert(network, numbers, place, "shared", x, by.shared)
        if by.shared_gate:
            shared = shared / (1 + np.exp(-product(numbers, place, "shared_router", x, 1, False)))
        y = y + shared
    return y, chosen


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def one_expert(network: Any, numbers: Numbers, place: str, name: str, x: np.ndarray, inner: int) -> np.ndarray:
    gate = activate(product(numbers, place, f"{name}.gate", x, inner, False), network.mlp.activation)
    up = product(numbers, place, f"{name}.up", x, inner, False)
    return product(numbers, place, f"{name}.down", gate * up, network.hidden, False)


def activate(x: np.ndarray, name: str) -> np.ndarray:
    if name == "silu":
        return x / (1 + np.exp(-x))
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
