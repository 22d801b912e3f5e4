"""A small BERT and a small ViT on a chip equal numpy from their first input to their last output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernbench.tanto.context import correlation
from kernbench.tanto.tiles import SIDE, tiles_to_matrix
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.tensix.rows import list_ids
from tests.workloads.configs import VIT, bert
from tests.workloads.reference import mlp, normal, product
from tests.workloads.tensix.test_decode import network_of, run
from tests.workloads.tensix.test_prefill import LEAST, step_of

SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
IMAGE = {"image_size": 48, "patch_size": 8, "num_labels": 10}
NETWORKS = {"bert": {**bert(128, 2, 4), **SMALL, "vocab_size": 200}, "vit": {**VIT, **SMALL, **IMAGE}}


def encode_text(network: Any, numbers: Numbers, ids: list[int], count: int) -> np.ndarray:
    """float64[hidden, sequence]: what the pooler makes of the first token of each of `count` sentences."""
    d, length = network.hidden, len(ids) // count
    x = numbers.matrix("start", "embedding", network.vocabulary, d)[ids].astype(np.float64)
    x = x + numbers.matrix("start", "token_types", network.token_types, d)[0]
    x = x + np.tile(numbers.matrix("start", "positions", network.positions, d)[:length], (count, 1))
    x = normal(network, numbers, "start", "embedding_norm", x)
    for layer in range(network.layers):
        place = str(layer)
        x = normal(network, numbers, place, "attention_after", x + attend(network, numbers, place, x, length))
        x = normal(network, numbers, place, "mlp_after", x + mlp(network, numbers, place, x))
    return np.tanh(product(numbers, "end", "pooler", x[::length], d, True)).T


def encode_images(network: Any, numbers: Numbers, count: int) -> np.ndarray:
    """float64[class, image]: the scores of the classes of each of `count` images."""
    d, patches = network.hidden, network.patches
    pixels = numbers.draw("start", "pixels", (count, patches.tokens, patches.channels * patches.patch**2))[:, 1:]
    x = np.stack([product(numbers, "start", "patches", image.astype(np.float64), d, True) for image in pixels])
    token = np.broadcast_to(numbers.vector("start", "class_token", d), (count, 1, d))
    x = np.concatenate([token, x], axis=1) + numbers.matrix("start", "positions", network.positions, d)
    x = x.reshape(-1, d)
    for layer in range(network.layers):
        place = str(layer)
        x = x + attend(network, numbers, place, normal(network, numbers, place, "input_norm", x), patches.tokens)
        x = x + mlp(network, numbers, place, normal(network, numbers, place, "mlp_norm", x))
    x = normal(network, numbers, "end", "final_norm", x[:: patches.tokens])
    return product(numbers, "end", "classes", x, patches.classes, True).T


def attend(network: Any, numbers: Numbers, place: str, x: np.ndarray, length: int) -> np.ndarray:
    """Attention of all tokens of a sequence to each other."""
    heads, count = network.attention, len(x) // length
    width = heads.queries * heads.size
    q, k, v = (
        product(numbers, place, name, x, width, heads.bias).reshape(count, length, heads.queries, heads.size)
        for name in "qkv"
    )
    scores = np.einsum("sqhe,sche->shqc", q, k) / np.sqrt(heads.size)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = np.einsum("shqc,sche->sqhe", weights, v).reshape(len(x), width)
    return product(numbers, place, "o", out, network.hidden, heads.out_bias)


@pytest.mark.parametrize(
    ("name", "machine", "batch", "prompt"),
    [("bert", "wormhole_n150", 2, 40), ("bert", "tensix_tiny", 1, 64), ("vit", "blackhole_p150", 2, 37)],
)
def test_a_small_encoder_equals_numpy(name, machine, batch, prompt):
    network = network_of(NETWORKS[name])
    ran = run(network, step_of(network, batch, prompt), machine, numbers=True)
    found = ran.network
    outputs = tiles_to_matrix(found.chip.device.read(found.logits.id), SIDE, found.head.n * SIDE)[:batch].T
    if name == "bert":
        wanted = encode_text(network, Numbers(), list_ids(batch * prompt, network.vocabulary), batch)
    else:
        wanted = encode_images(network, Numbers(), batch)
    assert not ran.told
    assert correlation(outputs[: len(wanted)], wanted) >= LEAST


@pytest.mark.parametrize("name", NETWORKS)
def test_one_program_of_all_layers_takes_the_time_of_its_parts(name):
    network = network_of(NETWORKS[name])
    step = step_of(network, 1, 37)
    one, every = (run(network, step, every=how) for how in (False, True))

    def spans(ran, section: str) -> list[int]:
        return [
            end - start for mark, (start, end) in zip(ran.marks, ran.spans_fs, strict=True) if mark.section == section
        ]

    for section in ("embedding", "layer 0", "output"):
        assert spans(every, section) == spans(one, section)
    assert spans(every, "layer 1") == spans(every, "layer 0")
