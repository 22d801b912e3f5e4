"""A step of decode on a chip equals a network in numpy, and one program of all layers takes the time of its parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.tanto.context import correlation
from kernbench.tanto.device import Device
from kernbench.tanto.tiles import SIDE, tiles_to_matrix
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import read_config
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.step import Step, Types, make_step
from kernbench.workloads.tensix.attention import deal
from kernbench.workloads.tensix.checks import check_step, find_peak
from kernbench.workloads.tensix.chip import choose_cores, list_links
from kernbench.workloads.tensix.network import Fidelities
from kernbench.workloads.tensix.rows import list_ids
from kernbench.workloads.tensix.run import ChipRun, run_step
from tests.workloads.configs import CONFIGS, decoder
from tests.workloads.reference import decode

SMALL = "128/2/4/2/32/256/500"  # d, layers, heads, heads of keys, their size, inner features, vocabulary
BF16 = Types("bf16", "bf16", "bf16")
FALCON = {"multi_query": True, "parallel_attn": True, "bias": False}
MIXTRAL = next(config for name, config in CONFIGS.items() if name.startswith("Mixtral"))
NETWORKS = {
    "llama": decoder("llama", SMALL),
    "two tiles a head, one tile of context": decoder("llama", "96/1/2/1/64/160/64"),
    "biases": decoder("qwen2", SMALL),
    "gelu, tied": decoder("gemma", SMALL, hidden_act="gelu_pytorch_tanh"),
    "more heads of queries than a tile has rows": decoder("falcon", "96/2/71/1/32/384/500", **FALCON),
    "layer norms, part of a head turned": decoder(
        "gpt_neox", "128/2/4/4/32/256/500", rotary_pct=0.25, hidden_act="gelu"
    ),
    "windows": decoder("mistral", SMALL, sliding_window=40),
}
LEAST = 0.9998  # correlation, with slots of 16 bits rounded to nearest
HIFI2 = Fidelities("hifi2", "hifi2")


def network_of(config: dict) -> Architecture:
    return read_config(config, "config.json", "tiny")


def step_of(network: Architecture, batch: int, context: int, types: Types = BF16, phase: str = "decode") -> Step:
    return make_step(network, phase=phase, batch=batch, prompt=context, context=context, chunk=1, types=types)


def run(
    network: Architecture, step: Step, machine: str = "wormhole_n150", *, every: bool = True, numbers: bool = False
) -> ChipRun:
    device = Device(load_machine(machine), nearest=True)
    return run_step(device, Plan(network, every), step, HIFI2, RunOptions(), numbers=numbers)


def logits_of(ran: ChipRun, sequences: int) -> np.ndarray:
    """float32[vocabulary, sequence]"""
    found = ran.network
    rows = tiles_to_matrix(found.chip.device.read(found.logits.id), SIDE, found.head.n * SIDE)
    return rows[:sequences, : found.network.vocabulary].T


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("machine", "batch", "context"), [("tensix_tiny", 3, 70), ("blackhole_p150", 5, 64)])
def test_logits_equal_those_of_a_network_in_numpy(name, machine, batch, context):
    network = network_of(NETWORKS[name])
    context = 20 if "one tile" in name else context
    ran = run(network, step_of(network, batch, context), machine, numbers=True)
    wanted = decode(network, Numbers(), list_ids(batch, network.vocabulary), context)
    assert not ran.told
    assert correlation(logits_of(ran, batch), wanted) >= LEAST


@pytest.mark.parametrize(("mlp", "least"), [(None, 0.999), ("bfp4", 0.96)])
def test_logits_of_block_formats_are_near(mlp, least):
    network = network_of(NETWORKS["llama"])
    ran = run(network, step_of(network, 4, 70, Types("bfp8", "bf16", "bfp8", mlp)), numbers=True)
    wanted = decode(network, Numbers(), list_ids(4, network.vocabulary), 70)
    assert least <= correlation(logits_of(ran, 4), wanted) < LEAST


@pytest.mark.parametrize("name", ["llama", "layer norms, part of a head turned"])
def test_one_program_of_all_layers_takes_the_time_of_its_parts(name):
    network = network_of(NETWORKS[name])
    step = step_of(network, 8, 70)
    one, every = (run(network, step, every=how) for how in (False, True))

    def spans(ran: ChipRun, section: str) -> list[int]:
        return [
            end - start for mark, (start, end) in zip(ran.marks, ran.spans_fs, strict=True) if mark.section == section
        ]

    for section in ("embedding", "layer 0", "output"):
        assert spans(every, section) == spans(one, section)
    assert spans(every, "layer 1") == spans(every, "layer 0")
    assert every.spans_fs[-1][1] == sum(end - start for start, end in every.spans_fs)


@pytest.mark.parametrize(
    ("name", "machine", "batch", "context", "parts"),
    [
        ("llama", "wormhole_n150", 1, 300, 10),
        ("llama", "blackhole_p150", 2, 512, 16),
        ("windows", "wormhole_n150", 1, 100, 2),
        ("more heads of queries than a tile has rows", "wormhole_n150", 2, 200, 7),
    ],
)
def test_cores_share_the_context_of_few_units(name, machine, batch, context, parts):
    network = network_of(NETWORKS[name])
    ran = run(network, step_of(network, batch, context), machine, numbers=True)
    (part,) = ran.network.step.parts
    sizes = ran.network.find_sizes(network.layer_kinds[0])
    dealt = deal(sizes, ran.network.chip.every_core())
    assert max(one.collects for one in dealt.values()) == parts
    assert sum(one.tiles for one in dealt.values()) == sizes.context_tiles * sizes.keys * sizes.subs * part.count
    wanted = decode(network, Numbers(), list_ids(batch, network.vocabulary), context)
    assert not ran.told
    assert correlation(logits_of(ran, batch), wanted) >= LEAST


def test_times_are_those_of_a_run_with_numbers():
    network = network_of(NETWORKS["llama"])
    step = step_of(network, 4, 70)
    assert run(network, step, numbers=True).spans_fs == run(network, step).spans_fs


@pytest.mark.parametrize("machine", ["wormhole_n150", "blackhole_p150", "tensix_tiny"])
def test_each_bank_has_a_core_of_its_own_and_no_link_carries_three_streams(machine):
    places = load_machine(machine).places
    cores = choose_cores(places)
    assert len(set(cores)) == places.grid.banks
    links = [
        link
        for bank, core in enumerate(cores)
        for link in list_links(places, places.bank_place(bank), places.physical(core))
    ]
    assert max(links.count(link) for link in links) <= 2


@pytest.mark.parametrize("machine", ["wormhole_n150", "blackhole_p150"])
def test_links_are_as_many_as_the_machine_has_hops(machine):
    places = load_machine(machine).places
    for src, dst in (((0, 3), (4, 5)), ((4, 5), (0, 3)), ((2, 2), (2, 2))):
        hops = sum(places.hops_between(network, src, dst) for network in (0, 1))
        assert len(list_links(places, src, dst)) == hops


def test_peaks_of_a_chip_are_those_of_its_sheets():
    peak = find_peak(load_machine("wormhole_n150"), "lofi")
    assert peak.flops_fs * 1e3 == pytest.approx(64 * 4.096)  # TFLOPS
    assert peak.bytes_fs * 1e6 == pytest.approx(265.2)  # GB/s
    assert peak.held == 12 << 30


@pytest.mark.parametrize(
    ("config", "given", "sentence"),
    [
        (
            NETWORKS["llama"],
            {"batch": 33},
            "tiny got 33 sequences a step; kernels of chips take a row of tiles, 32; give fewer",
        ),
        (
            decoder("llama", "64/2/4/2/16/128/256"),
            {},
            "tiny needs heads of 16 elements, no whole tiles of 32, for which",
        ),
        (MIXTRAL, {}, "needs experts"),
        (CONFIGS["DeepSeek-V3"], {}, "needs latent attention"),
        (CONFIGS["GPT-2"], {}, "needs learned positions in decode"),
        (CONFIGS["Qwen3-8B"], {}, "needs norms of queries and keys"),
        (
            NETWORKS["llama"],
            {"types": Types("f16", "bf16", "bf16")},
            "got weights=f16; chips of family tensix have kernels for bf16",
        ),
        (NETWORKS["llama"], {"types": Types("bfp8", "bfp8", "bf16")}, "got activations=bfp8; chips of family tensix"),
    ],
)
def test_what_has_no_kernels_is_named(config, given, sentence):
    network = network_of(config)
    with pytest.raises(InputError) as error:
        check_step(network, step_of(network, **{"batch": 2, "context": 40, **given}))
    assert sentence in str(error.value)


def test_a_context_beyond_l1_is_refused_with_what_would_do(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**NETWORKS["llama"], "max_position_embeddings": 1 << 20}))
    with pytest.raises(
        InputError, match=r"the program of attention does not fit: .*; give a shorter context or prompt, or"
    ):
        kernbench.run(str(path), "wormhole_n150", parameters={"context": 600_000})


def test_a_run_tells_the_answer_of_a_chip(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(NETWORKS["llama"]))
    given = {"batch": 8, "context": 70}
    found = kernbench.run(str(path), "wormhole_n150", parameters=given)
    told = found.network
    assert told["types"] == {"weights": "bfp8", "activations": "bf16", "cache": "bfp8", "mlp": None}
    assert told["place"] == "chip"
    assert told["step_ns"] == pytest.approx(sum(row["times"] * row["ns"] for row in told["operators"]))
    assert told["tokens_s"] == pytest.approx(8 * told["user_tokens_s"])
    assert [row["operator"] for row in told["operators"]][:4] == ["embedding", "norm", "q, k, v", "heads to rows"]
    quick = kernbench.run(
        str(path), "wormhole_n150", parameters={**given, "math_fidelity": "lofi", "mlp_weights": "bfp4"}
    )
    assert quick.network["step_fs"] < told["step_fs"]
    assert quick.network["peak_tflops"] == pytest.approx(2 * told["peak_tflops"])
    every = kernbench.run(str(path), "wormhole_n150", parameters={**given, "layers": "all"})
    assert every.network["step_fs"] == told["step_fs"]
