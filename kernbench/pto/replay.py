"""Replay of a measured graph: the runtime as it is modelled, with tasks that take as long as was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.overrides import read_overrides
from kernbench.modes import Mode
from kernbench.pto.kernels import Kernel
from kernbench.pto.launch import Launch, Outcome
from kernbench.pto.settings import OF_REPLAYS, SECTION, RuntimeSettings
from kernbench.pto.tasks.graph import SHAPES, Graph, load_graph
from kernbench.pto.tasks.task import Shape, Task, Worker

if TYPE_CHECKING:
    from kernbench.pto.runtime.orchestrator import Orchestrator

_WORKERS = {"aic": Worker.CUBE, "aiv": Worker.VECTOR}


def replay(
    graph: Graph | Path,
    topology: str | None = None,
    overrides: Mapping[str, object] | None = None,
    mode: str = Mode.HYBRID,
    speed: float = 1.0,
) -> Outcome:
    """Replay a graph, or a schedule file, on its machine or another one; `overrides` are fields of the topology, and
    tasks are faster by `speed`.

    Errors: InputError for the graph, the machine or the fields; FatalError for what stops the runtime.
    """
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    fields: dict[str, object] = {f"{SECTION}.{name}": value for name, value in graph.runtime.items()}
    fields |= read_overrides(overrides)
    for name in OF_REPLAYS:
        if f"{SECTION}.{name}" in fields:
            raise InputError(f"{SECTION}.{name} has no effect on a replay; set {SECTION}.replay_{name}")
    machine = load_machine(topology or graph.machine, fields)
    names = {(task.name, _core_type(task.core)): None for task in graph.tasks}
    numbers = {key: number for number, key in enumerate(names)}
    kernels = {number: Kernel(number, name, core_type) for (name, core_type), number in numbers.items()}
    submitted: dict[int, Task] = {}

    def body(orchestrator: Orchestrator) -> None:
        for task in graph.tasks:
            core_type = _core_type(task.core)
            submitted[task.id] = orchestrator.submit(
                numbers[task.name, core_type],
                _WORKERS[core_type],
                (),
                shape=SHAPES[task.core],
                block_ns=task.block_ns,
                after=[submitted[dep] for dep in task.deps],
            )

    launch = Launch(
        machine, RuntimeSettings.of(machine, replay=True), kernels, mode=mode, compute_numbers=False, speed=speed
    )
    device = launch.device()
    for task in graph.tasks:  # before the run: new durations under way cost it a look at all tables
        for ns in task.block_ns:
            device.rows.duration(("ns", ns / speed))
    return launch.run(body, device, scoped=False)


def _core_type(core: str) -> str:
    """The type of core whose name a task of some cores has: of all cores of a cluster, that of the AIC."""
    return "aic" if SHAPES[core] in (Shape.AIC, Shape.MIX) else "aiv"
