"""A step of decode equals a network in numpy, and one program of all layers takes the time of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.runs.bench import Bench
from kernbench.runs.run import run_kernels
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import read_config
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.sip.answer import time_marks
from kernbench.workloads.sip.program import Decoder, Plan, check_lowered, list_ids
from kernbench.workloads.sip.rank import Mark
from kernbench.workloads.step import Step, Types, make_step
from tests.workloads.configs import CONFIGS, decoder, gpt2
from tests.workloads.reference import decode

SIZES = "64/2/4/2/16/128/256"
NETWORKS = {
    "llama": decoder("llama", SIZES),
    "qwen3": decoder("qwen3", SIZES, tie_word_embeddings=True),
    "qwen2": decoder("qwen2", SIZES),
    "gpt2": {**gpt2(64, 2, 4, 64), "vocab_size": 256},
    "gpt_neox": decoder("gpt_neox", "64/2/4/4/16/128/256", rotary_pct=0.25, hidden_act="gelu_fast"),
    "falcon": {
        **CONFIGS["Falcon-7B"],
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 256,
    },
    "window": decoder("mistral", "64/3/4/2/16/128/250", sliding_window=8),
}


def read(name: str) -> Architecture:
    return read_config(NETWORKS[name], "config.json", name)


def step_of(network: Architecture, batch: int, context: int, dtype: str, tensor: int = 1) -> Step:
    types = Types(dtype, dtype, dtype)
    sizes = {"batch": batch, "prompt": 1, "context": context, "chunk": 1, "tensor": tensor}
    return make_step(network, phase="decode", types=types, **sizes)


def simulate(
    network: Architecture, step: Step, machine: str = "tiny", *, every: bool = True, check: bool = False
) -> tuple[Any, list[Mark]]:
    """What a run says, and its marks on the first SIP; the logits of each rank are compared with those of the reference."""
    marks: list[Mark] = []
    plan, numbers = Plan(network, every), Numbers()

    def work(torch: Any, index: int) -> None:
        one = Decoder(torch, plan, step, index, numbers)
        one.launch()
        if index == 0:
            marks.extend(one.rank.marks)
        part = -(-network.vocabulary // step.tensor)
        context, mine = step.parts[0].context, slice(index * part, (index + 1) * part)
        ids = list_ids(step, network.vocabulary)
        if check:
            torch.expect(one.logits, lambda: decode(network, numbers, ids, context)[mine], tolerance)

    def run(torch: Any) -> None:
        if step.tensor == 1:
            work(torch, 0)
        else:
            torch.distributed.init_process_group(backend="ahbm")
            torch.multiprocessing.spawn(lambda index: work(torch, index), nprocs=step.tensor)

    tolerance = 1e-3 if step.types.activations == "f32" else 3e-2
    bench = Bench("net", "a network", {}, Path(__file__), run)
    options = RunOptions(verify=check)
    return run_kernels(bench, load_machine(machine), range(step.tensor), {}, options, 0.0), marks


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "context", "dtype"), [(1, 40, "f32"), (3, 9, "f32"), (3, 9, "f16")])
def test_the_logits_of_a_small_network_equal_those_of_numpy(name, batch, context, dtype):
    network = read(name)
    found, _ = simulate(network, step_of(network, batch, context, dtype), check=True)
    assert found["mismatches"] == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "gpt_neox"])
def test_ranks_of_tensor_parallelism_give_the_same_logits(name):
    network = read(name)
    found, _ = simulate(network, step_of(network, 3, 9, "f32", 2), "sip_2x4x4", check=True)
    assert found["mismatches"] == ()


def times(found: Any, marks: list[Mark]) -> dict[str, list[int]]:
    """The times of the marks of each section, in femtoseconds."""
    session = found["device"].session
    launches = [launch for launch in found["launches"] if launch.message.sip == 0]
    each = time_marks(marks, launches, session.op_issue_fs, session.op_end_fs)
    sections: dict[str, list[int]] = {}
    for mark, (start_fs, end_fs) in zip(marks, each, strict=True):
        sections.setdefault(mark.section, []).append(end_fs - start_fs)
    return sections


@pytest.mark.parametrize(("tensor", "machine"), [(1, "tiny"), pytest.param(2, "sip_2x4x4", marks=pytest.mark.slow)])
def test_one_program_of_all_layers_takes_the_time_of_its_parts_to_the_femtosecond(tensor, machine):
    network = read_config(decoder("llama", "64/4/4/2/16/128/256"), "config.json", "llama")
    step = step_of(network, 3, 9, "f16", tensor)
    whole = times(*simulate(network, step, machine))
    parts = times(*simulate(network, step, machine, every=False))
    assert set(whole) == {"embedding", "layer 0", "layer 1", "layer 2", "layer 3", "output"}
    assert set(parts) == {"embedding", "layer 0", "output"}
    of_one = sum(parts["embedding"]) + 4 * sum(parts["layer 0"]) + sum(parts["output"])
    assert sum(sum(each) for each in whole.values()) == of_one
    for layer in range(4):
        assert whole[f"layer {layer}"] == parts["layer 0"]


@pytest.mark.parametrize(
    ("name", "what"),
    [("Mixtral-8x7B", "experts"), ("DeepSeek-V3", "latent attention"), ("Gemma-2-2B", "4 norms a layer")],
)
def test_what_has_no_kernels_is_refused_by_name(name, what):
    network = read_config(CONFIGS[name], "config.json", name)
    with pytest.raises(InputError) as error:
        check_lowered(network, step_of(network, 1, 9, "f16"))
    assert str(error.value).startswith(f"{name} needs {what}, for which there are no kernels yet; phase=decode of ")
