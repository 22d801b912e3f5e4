"""A graph on a SIP: its tensors are made, its units launched, those that are alike once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import is_float, numpy_dtype
from kernbench.workloads.graph.form import Graph, Value
from kernbench.workloads.kernels.spread import spread
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Mark
from kernbench.workloads.sip.graph_plan import Held, Unit
from kernbench.workloads.sip.rank import align
from kernbench.workloads.sip.run import Ran

if TYPE_CHECKING:
    from kernbench.host.device.buffer import Buffer
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.graph.sources import GraphSource


def select_units(units: Sequence[Unit], every: bool) -> list[tuple[Unit, int]]:
    """The units to simulate, each with its number in the graph: the first of each key, or all."""
    if every:
        return [(unit, 1) for unit in units]
    counts: dict[object, int] = {}
    first: dict[object, Unit] = {}
    for unit in units:
        counts[unit.key] = counts.get(unit.key, 0) + 1
        first.setdefault(unit.key, unit)
    return [(unit, counts[key]) for key, unit in first.items()]


class GraphRun:
    """Launches units on one SIP. A tensor that none of them has made yet has drawn numbers."""

    def __init__(self, torch: RuntimeContext, graph: Graph, numbers: Numbers) -> None:
        self.torch, self.graph, self.numbers = torch, graph, numbers
        self.marks: list[Mark] = []
        self._tensors: dict[object, Tensor] = {}
        self._fillers: list[Buffer] = []
        self._units: Sequence[Unit] = ()

    def launch(self, units: Sequence[Unit]) -> None:
        """Make the tensors of units, then launch them in order."""
        self._units = units
        for unit in units:
            for held in unit.list_tensors():
                self.tensor(held)
        given = [tuple(None if held is None else self.tensor(held) for held in unit.tensors) for unit in units]
        for unit, tensors in zip(units, given, strict=True):
            first = len(self.torch.runtime.launches)
            self._launch(unit, tensors)
            mark = Mark(unit.operator.kind, unit.operator.label, first, len(self.torch.runtime.launches))
            self.marks.append(mark)

    def expect(self, source: GraphSource) -> None:
        """Expect of each output what the source computes from the same inputs."""
        found: dict[str, np.ndarray] = {}

        def compute(name: str, held: Held) -> np.ndarray:
            if not found:
                given = {
                    key: view.of(self.draw(self.graph.values[view.base])) for key, view in self.graph.inputs.items()
                }
                found.update(source.compute(self.graph, given))
            view, value = self.graph.outputs[name], self.graph.values[held.value]
            memory = np.zeros(value.shape, np.float32)
            view.of(memory)[...] = found[name].reshape(view.shape)
            return fill(held, value, memory)

        for name, view in self.graph.outputs.items():
            held = next(one for unit in reversed(self._units) for one in unit.tensors if one and one.value == view.base)
            tolerance = 2e-2 if self.graph.values[view.base].dtype != "f32" else 1e-3
            self.torch.expect(self.tensor(held), partial(compute, name, held), tolerance)

    def _launch(self, unit: Unit, tensors: tuple[Tensor | None, ...]) -> None:
        name = unit.kernel.__name__
        if unit.spread:
            held, copied = unit.spread
            self.torch.launch(
                "spread", spread, self.tensor(held), self.tensor(copied), held.shape[0], (0, held.shape[1]), held.dtype
            )
        if not unit.grid:
            self.torch.launch(name, unit.kernel, *tensors, *unit.constants.values(), unit.operator.dtype)
            return
        written = unit.tensors[-1 - len(unit.operator.extras)]
        spare = self.tensor(written) if written else None  # for the operands that a kernel does not use
        count = len(unit.kernel.arg_names) - len([one for one in unit.kernel.arg_names if one.isupper()])
        given = [spare if one is None else one for one in tensors]
        given += [spare] * (count - len(given))
        self.torch.launch(name, unit.kernel[(unit.grid,)], *given, dealing="blocked", **unit.constants)

    def tensor(self, held: Held) -> Tensor:
        """The tensor of a value as a unit wants it; each begins at the first channel of its memories."""
        key = (held.value, held.shape, repr(held.policy), held.pack is not None)
        if key not in self._tensors:
            self._fillers += align(self.torch)
            value = self.graph.values[held.value]

            def make() -> np.ndarray:
                return fill(held, value, self.draw(value))

            self._tensors[key] = self.torch.computed(held.shape, make, held.dtype, held.policy, held.value)
        return self._tensors[key]

    def draw(self, value: Value) -> np.ndarray:
        """The numbers of a value before the run: those of its file, or drawn; zeros of what operators write."""
        if value.numbers is not None:
            return value.numbers().astype(numpy_dtype(value.dtype))
        made = {one.output.base for one in self.graph.operators}
        if value.name in made or not is_float(value.dtype):
            return np.zeros(value.shape, numpy_dtype(value.dtype))
        width = value.shape[1:] if value.constant else ()
        scale = np.float32(max(1, int(np.prod(width)))) ** -0.5
        return (self.numbers.draw("graph", value.name, value.shape) * scale).astype(numpy_dtype(value.dtype))


def fill(held: Held, value: Value, numbers: np.ndarray) -> np.ndarray:
    """The numbers of a tensor: packed, or row after row with zeros behind them."""
    if held.pack is not None:
        return held.pack(numbers.reshape(value.shape))
    room = np.zeros(int(np.prod(held.shape)), numbers.dtype)
    room[: numbers.size] = numbers.reshape(-1)
    return room.reshape(held.shape)


def run_units(torch: RuntimeContext, graph: Graph, units: Sequence[Unit], source: GraphSource | None = None) -> Ran:
    """Launch units on the selected SIP. If a source has weights, its outputs are expected."""
    run = GraphRun(torch, graph, Numbers())
    run.launch(units)
    if source is not None and source.refuse_numbers() is None and len(units) == len(graph.operators):
        run.expect(source)
    return Ran(run.marks, [list(torch.runtime.launches)], range(len(run.marks)))
