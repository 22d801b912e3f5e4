"""A step of prefill on a chip equals a network in numpy, and one program of all layers takes the time of its parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.tanto.context import correlation
from kernbench.tanto.device import Device
from kernbench.tanto.formats import find_format
from kernbench.workloads.numbers import Numbers, rotation
from kernbench.workloads.step import Step, make_step
from kernbench.workloads.tensix.attention import Sizes
from kernbench.workloads.tensix.blocks import Formats
from kernbench.workloads.tensix.checks import check_step
from kernbench.workloads.tensix.chip import Chip
from kernbench.workloads.tensix.prompt_attention import find_turns
from kernbench.workloads.tensix.rows import list_ids
from kernbench.workloads.tensix.tensors import choose_shares, make_tensor
from tests.workloads.configs import gpt2
from tests.workloads.reference import prefill
from tests.workloads.tensix.test_decode import BF16, NETWORKS, logits_of, network_of, run

LEAST = 0.9993  # correlation: tensors have 16 bits after each program


GPT2 = {**gpt2(128, 2, 4, 128), "vocab_size": 200}


def step_of(network, batch: int, prompt: int) -> Step:
    return make_step(network, phase="prefill", batch=batch, prompt=prompt, context=prompt, chunk=1, types=BF16)


@pytest.mark.parametrize(
    ("name", "machine", "batch", "prompt"),
    [
        ("llama", "wormhole_n150", 2, 70),
        ("llama", "tensix_tiny", 1, 32),
        ("two tiles a head, one tile of context", "blackhole_p150", 3, 33),
        ("gelu, tied", "blackhole_p150", 1, 96),
        ("biases", "wormhole_n150", 2, 40),
        ("layer norms, part of a head turned", "blackhole_p150", 1, 64),
        ("learned positions", "wormhole_n150", 2, 50),
        ("more heads of queries than a tile has rows", "wormhole_n150", 1, 40),
        ("windows", "wormhole_n150", 2, 40),
    ],
)
def test_logits_of_last_tokens_equal_those_of_a_network_in_numpy(name, machine, batch, prompt):
    network = network_of(GPT2 if name == "learned positions" else NETWORKS[name])
    ran = run(network, step_of(network, batch, prompt), machine, numbers=True)
    wanted = prefill(network, Numbers(), list_ids(batch * prompt, network.vocabulary), batch)
    assert not ran.told
    assert correlation(logits_of(ran, batch), wanted) >= LEAST


def test_one_program_of_all_layers_takes_the_time_of_its_parts():
    network = network_of(NETWORKS["llama"])
    step = step_of(network, 2, 70)
    one, every = (run(network, step, every=how) for how in (False, True))

    def spans(ran, section: str) -> list[int]:
        return [
            end - start for mark, (start, end) in zip(ran.marks, ran.spans_fs, strict=True) if mark.section == section
        ]

    for section in ("embedding", "layer 0", "output"):
        assert spans(every, section) == spans(one, section)
    assert spans(every, "layer 1") == spans(every, "layer 0")


@pytest.mark.parametrize("rotary", [64, 16, 0])
def test_turns_of_neighbours_are_the_rotation_of_a_head(rotary):
    sizes = Sizes(1, 1, 1, 64, 40, rotary, 0)
    cos, sin = find_turns(sizes)
    x = np.random.default_rng(0).standard_normal(64)
    for position in (0, 7, 39):
        turned = x @ (rotation(64, rotary, position) if rotary else np.eye(64))
        ordered = x[sizes.order()]
        found = ordered * cos[position] + ordered[np.arange(64) ^ 1] * sin[position]
        assert found == pytest.approx(turned[sizes.order()], abs=1e-5)


def test_few_tokens_share_columns_and_many_share_rows_too():
    chip = Chip(Device(load_machine("wormhole_n150")), "hifi2")
    formats = Formats(*(find_format(one) for one in ("bfloat16", "bfloat8_b", "bfloat16")), False)
    spreads = [choose_shares(chip, make_tensor(chip, rows, 128), 448, formats)[0].spread for rows in (1, 64)]
    assert spreads == ["columns", "grid"]


@pytest.mark.parametrize(
    ("name", "prompt", "sentence"),
    [
        ("windows", 64, "tiny needs windows shorter than the prompt"),
    ],
)
def test_what_has_no_kernels_is_named(name, prompt, sentence):
    network = network_of(NETWORKS[name])
    with pytest.raises(InputError, match=sentence):
        check_step(network, step_of(network, 1, prompt))


def test_a_prompt_of_many_tokens_takes_less_time_a_token(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(NETWORKS["llama"]))
    found = [
        kernbench.run(str(path), "wormhole_n150", parameters={"phase": "prefill", "prompt": prompt}).network
        for prompt in (32, 256)
    ]
    assert found[0]["user_tokens_s"] < found[1]["user_tokens_s"]
    assert [row["operator"] for row in found[0]["operators"]][:5] == [
        "embedding",
        "norm",
        "q, k, v",
        "cache",
        "attention",
    ]
