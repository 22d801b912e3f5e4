"""Graphs and runs for the tests of task graphs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernbench.frontends.graph_result import GraphResult, make_result
from kernbench.machine import load_machine
from kernbench.pto.api import PTO2Runtime
from kernbench.pto.kernels import Kernel
from kernbench.pto.launch import Launch
from kernbench.pto.runtime.orchestrator import Backend
from kernbench.pto.settings import RuntimeSettings

if TYPE_CHECKING:
    from kernbench.pto.launch import Outcome

KERNELS = {0: Kernel(0, "CUBE", "aic", cost=2000.0), 1: Kernel(1, "VEC", "aiv", cost=1000.0)}


def launch(backend=Backend.RINGS, kernels=None, topology="ascend_tiny", **fields):
    """A launch on a machine with fields of the runtime, by their names within its sheet."""
    machine = load_machine(topology, {f"pto_runtime.{name}": value for name, value in fields.items()})
    return Launch(machine, RuntimeSettings.of(machine), kernels or KERNELS, backend)


def run(orchestrate, backend=Backend.RINGS, kernels=None, topology="ascend_tiny", **fields):
    """Run a function of the runtime's handle."""
    return launch(backend, kernels, topology, **fields).run(lambda o: orchestrate(PTO2Runtime(o)))


def result_of(outcome: Outcome) -> GraphResult:
    """The result of a run, as front-ends make it; it is not run again."""

    def rerun(fields: Mapping[str, object], speed: float) -> Outcome:
        raise AssertionError(f"run again with {fields}, {speed}")

    asked: dict[str, Any] = {"parameters": {}, "overrides": {}, "verified": None, "mismatches": (), "request": None}
    return make_result(outcome, rerun, {}, bench="graph", mode="hybrid", **asked)


def random_graph(seed, tasks):
    """The contents of a schedule file of random tasks."""
    rng = random.Random(seed)
    return {
        "machine": "ascend_tiny",
        "tasks": [
            {
                "id": 10 * at,
                "name": f"k{at % 3}",
                "core": rng.choice(["aic", "aiv", "aiv2", "mix"]),
                "blocks": rng.choice([1, 1, 2, 5]),
                "duration_us": {"mean": rng.uniform(2, 9), "min": 1, "max": 12},
                "deps": [10 * dep for dep in {rng.randrange(at) for _ in range(2)}] if at else [],
            }
            for at in range(tasks)
        ],
    }
