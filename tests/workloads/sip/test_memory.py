"""The memory that is counted is that which a run allocates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.runs.bench import Bench
from kernbench.runs.run import run_kernels
from kernbench.workloads.config_json import read_config
from kernbench.workloads.memory import find_memory
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.sip.program import Decoder
from kernbench.workloads.step import Types, make_step
from tests.workloads.configs import CONFIGS, decoder, deepseek, gpt2

LATENT = {"kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}
SIZES = "64/2/8/4/16/128/256"
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
SHARED = {"shared_expert_intermediate_size": 64}
NETWORKS: dict[str, dict[str, Any]] = {
    "llama": decoder("llama", SIZES),
    "tied": decoder("qwen3", SIZES, tie_word_embeddings=True),
    "one head of keys": decoder("llama", "64/2/8/1/16/128/256"),
    "window": decoder("mistral", SIZES, sliding_window=8),
    "qwen3_moe": decoder("qwen3_moe", SIZES, **EXPERTS, mlp_only_layers=[0]),
    "deepseek": decoder(
        "deepseek_v2", SIZES, **LATENT, q_lora_rank=24, **deepseek(8, 1, 16, 2), first_k_dense_replace=1
    ),
    "qwen2_moe": decoder("qwen2_moe", SIZES, **EXPERTS, **SHARED),
}


class _Counted:
    """A context that counts the bytes of the numbers that are given to it."""

    def __init__(self, torch: Any) -> None:
        self._torch, self.weights, self.cache = torch, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def computed(self, shape: Any, make: Any, dtype: str, dp: Any, name: str) -> Any:
        made = self._torch.computed(shape, make, dtype, dp, name)
        if name.endswith((".keys", ".values", ".latent", ".rotary")):
            self.cache += made.layout.nbytes
        elif "." in name or name in ("embedding", "positions", "q_norm", "k_norm"):
            self.weights += made.layout.nbytes
        return made


def allocate(network: Any, step: Any) -> tuple[int, int]:
    """Bytes of weights and of the cache of the first rank."""
    counted: list[_Counted] = []

    def work(torch: Any, index: int) -> None:
        counted.append(_Counted(torch))
        Decoder(counted[-1], Plan(network, every_layer=True), step, index, Numbers())  # type: ignore[arg-type]

    def run(torch: Any) -> None:
        torch.multiprocessing.spawn(lambda index: work(torch, index), nprocs=step.ranks)

    bench = Bench("net", "a network", {}, Path(__file__), run)
    machine = load_machine("tiny", {"sips.count": step.ranks})
    run_kernels(bench, machine, range(step.ranks), {}, RunOptions(), 0.0)
    return counted[0].weights, counted[0].cache


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("ranks", [{}, {"tensor": 2}, {"tensor": 8}, {"expert_ranks": 2}])
def test_weights_and_cache_take_what_is_counted(name, ranks):
    network = read_config(NETWORKS[name], "config.json", name)
    if "expert_ranks" in ranks and not network.experts:
        ranks = {"tensor": 4}
    sizes = {"batch": 4, "prompt": 1, "context": 16, "chunk": 1, **ranks}
    step = make_step(network, phase="decode", types=Types("f16", "f32", "f32"), **sizes)
    memory = find_memory(network, step)
    assert allocate(network, step) == (memory.weights, memory.cache)


def test_biases_count():
    network = read_config({**gpt2(64, 2, 4, 64), "vocab_size": 256}, "config.json", "gpt2")
    step = make_step(network, phase="decode", types=Types("f32", "f32", "f32"), batch=1, prompt=1, context=16, chunk=1)
    shifts = 2 * (3 * 64 + 256) + 2 * 256  # what the mean of a norm takes of each output, and the bias of the last
    weights, _ = allocate(network, step)
    assert weights == find_memory(network, step).weights - 4 * 64 * 5 + 4 * shifts


def test_ranks_of_published_networks():
    network = read_config(CONFIGS["Llama-3.1-8B"], "config.json", "llama")
    types = Types("f16", "f16", "f16")
    sizes = {"batch": 1, "prompt": 1, "context": 16, "chunk": 1}
    whole, half = (
        find_memory(network, make_step(network, phase="decode", types=types, **sizes, tensor=n)).weights for n in (1, 2)
    )
    alone = 2 * (128256 * 4096 + 65 * 4096)  # the embedding table and the norms
    assert 2 * (half - alone) == whole - alone
