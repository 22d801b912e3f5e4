"""Steps of small networks on small machines, for tests of their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.runs.bench import Bench
from kernbench.runs.run import run_kernels
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import read_config
from kernbench.workloads.plan import Plan
from kernbench.workloads.sip.answer import time_marks
from kernbench.workloads.sip.choices import WITHOUT, Choices, list_values
from kernbench.workloads.sip.quiet import is_quiet
from kernbench.workloads.sip.run import Ran, run_step
from kernbench.workloads.step import Step, Types, make_step
from tests.workloads.configs import decoder, gpt2


def step_of(network: Architecture, batch: int, context: int, dtype: str, tensor: int = 1) -> Step:
    types = Types(dtype, dtype, dtype)
    sizes: dict[str, Any] = {"batch": batch, "prompt": 1, "context": context, "chunk": 1, "tensor": tensor}
    return make_step(network, phase="decode", types=types, **sizes)


class Timed(NamedTuple):
    """What a step took."""

    times: list[tuple[str, str, int]]  # section, operator, femtoseconds
    launches: Counter[int]  # simulated, by SIP
    quiet: bool

    def of(self, section: str) -> list[tuple[str, int]]:
        return [(operator, fs) for part, operator, fs in self.times if part == section]


def time_step(
    network: Architecture,
    step: Step,
    machine: str,
    overrides: Mapping[str, object],
    *,
    choices: Choices = WITHOUT,
    every_layer: bool = True,
    every_rank: bool = False,
) -> Timed:
    """Simulate a step, all of it or what stands for all."""
    ran: list[Ran] = []

    def run(torch: Any) -> None:
        ran.append(run_step(torch, Plan(network, every_layer), step, choices, every_rank=every_rank))

    bench = Bench("net", "a network", {}, Path(__file__), run)
    found = run_kernels(bench, load_machine(machine, overrides), range(step.ranks), {}, RunOptions(), 0.0)
    session, (one,) = found["device"].session, ran
    spans = time_marks(one.marks, one.launches, session.op_issue_fs, session.op_end_fs)
    times = [(mark.section, mark.operator, end - start) for mark, (start, end) in zip(one.marks, spans, strict=True)]
    quiet = is_quiet(session, [one.launches[0][at] for at in one.alone])
    return Timed(times, Counter(launch.message.sip for launch in found["launches"]), quiet)


def draw_choices(rng: np.random.Generator) -> Choices:
    """Any choices, or none, on the SIPs of machine tiny."""
    found = {field: list_values(field, 2, 2) or [1, 2, 5] for field in Choices._fields}
    return Choices(**{field: [None, *values][rng.integers(len(values) + 1)] for field, values in found.items()})


def draw_step(rng: np.random.Generator) -> tuple[Architecture, Step, dict[str, object]]:
    """A network of awkward sizes, a step of it on one to six ranks, and fields of a machine."""
    tensor = int(rng.choice([1, 2, 3, 4, 6]))
    keys = int(rng.choice([one for one in (1, 2, 3, tensor, 2 * tensor) if one <= tensor or one % tensor == 0]))
    queries = int(np.lcm(tensor, keys)) * int(rng.integers(1, 3))
    size, inner, vocabulary = int(rng.choice([8, 16])), tensor * int(rng.integers(5, 30)), int(rng.integers(50, 300))
    hidden, layers = int(rng.integers(3, 9)) * 16, int(rng.integers(2, 4))
    match rng.integers(3):
        case 0:
            config = gpt2(queries * size, layers, queries, 64)
            config["vocab_size"] = vocabulary
        case 1:
            sizes = f"{queries * size}/{layers}/{queries}/{queries}/{size}/{inner}/{vocabulary}"
            config = decoder("gpt_neox", sizes, rotary_pct=0.25, hidden_act="gelu_fast")
        case _:
            config = decoder("llama", f"{hidden}/{layers}/{queries}/{keys}/{size}/{inner}/{vocabulary}")
    network = read_config(config, "config.json", "small")
    fields: dict[str, object] = {
        "sips.count": tensor,
        "sips.gap_mm": float(rng.choice([5, 20, 300, 10_000])),
        "sips.wiring": str(rng.choice(["switch", "direct"])),
    }
    if rng.random() < 0.4:
        fields |= {"sips.topology": "mesh_2d_no_wrap", "sips.w": tensor, "sips.h": 1}
    if rng.random() < 0.2:
        fields["mmu.model"] = "la"  # under physical addresses no kernel reads over the end of a part
    return network, step_of(network, int(rng.integers(1, 5)), int(rng.integers(2, 40)), "f16", tensor), fields
