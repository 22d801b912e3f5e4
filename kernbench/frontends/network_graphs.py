"""Graphs of operators as workloads: each operator becomes a launch, launches that are alike once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernbench.dtypes import bits, canonical
from kernbench.errors import InputError
from kernbench.frontends import networks
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.network_files import OfFile
from kernbench.frontends.network_graph_tables import graph_tables
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Section, Shown
from kernbench.runs.bench import Bench
from kernbench.text_table import TextTable
from kernbench.workloads.graph.form import Product
from kernbench.workloads.graph.sources import GraphSource, find_graph

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult
    from kernbench.workloads.graph.form import Graph
    from kernbench.workloads.sip.graph_plan import Unit
    from kernbench.workloads.sip.run import Ran

DOCS = """One pass through the network, from its inputs to its outputs.

Parameters:
    batch: images or sequences of a pass, the first axis of the inputs
    weights: type of the weights; empty: that of the file
    activations: type of the activations; empty: that of the file
    fuse: elementwise operators end the operator before them (yes), or each node is a launch (no)
    nodes: distinct simulates one of the launches that are alike, all every launch
"""


@dataclass(frozen=True, slots=True)
class GraphWorkload(OfFile):
    """A graph; `units` are those of its next run, each with its number in the graph."""

    graph: GraphSource
    units: list[tuple[Unit, int]]
    graphs: list[Graph]
    ran: list[Ran]

    def describe(self) -> Shown:
        """As of `Workload`."""
        graph = self.graph.read({name: size or 1 for name, size in self.graph.axes.items()})
        sizes = {
            "parameters": f"{graph.parameters:,}",
            "operators": f"{sum(graph.nodes.values()) or len(graph.operators):,}",
            "flops": f"{sum(one.flops for one in graph.operators):,}",
            **{f"input {name}": _say_shape(graph, view) for name, view in graph.inputs.items()},
            **{f"output {name}": _say_shape(graph, view) for name, view in graph.outputs.items()},
        }
        told = [{"size": name, "value": value} for name, value in sizes.items()]
        nodes = [{"operator": name, "nodes": f"{count:,}"} for name, count in graph.nodes.items()]
        found = BenchWorkload.describe(self)
        sections = [Section("", told, {"size": "size", "value": ""})]
        if nodes:
            sections.append(Section("", nodes, {"operator": "operator", "nodes": "nodes"}))
        data = {**found.data, "kind": self.record.kind, "sizes": sizes, "source": self.graph.source}
        unset = [name for name, size in self.graph.axes.items() if not size]
        sizes_of = [f"sizes are those of {name} = 1; kernbench run takes --set {name}=SIZE" for name in unset]
        return replace(
            found,
            kind=self.record.title,
            sections=[*sections, *found.sections],
            data={**data, "nodes": dict(graph.nodes), "not_modelled": graph.not_modelled},
            text=f"Sizes: {self.graph.source}.",
            remarks=[*(f"not modelled: {line}" for line in graph.not_modelled), *sizes_of, *found.remarks],
        )

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`. Errors: also InputError for what does not fit or has no kernels."""
        from kernbench.frontends.bench_runs import make_result
        from kernbench.runs.run import run_kernels
        from kernbench.workloads.sip.answer import find_peak
        from kernbench.workloads.sip.graph_plan import Planner
        from kernbench.workloads.sip.graph_program import select_units

        options = request.options
        if refusal := self.refuse_mode(options.mode):
            raise InputError(refusal)
        machine, given = self.load_machine(request)
        if options.verify:
            if refusal := self.graph.refuse_numbers():
                raise InputError(refusal)
            given = {**given, "nodes": "all"}
        graph = self._make(given)
        planner = Planner(graph, machine)
        units = planner.plan()
        peak = find_peak(machine, min(bits(graph.values[one.output.base].dtype) for one in graph.operators))
        held = planner.check_memory(units, peak.held)
        self.units[:] = select_units(units, given["nodes"] == "all")
        self.graphs[:] = [graph]
        run = partial(run_kernels, self.of, machine, range(1), given, options)
        tell = partial(self._tell, graph, peak, held)
        return Prepared(self, machine, lambda: tell(make_result(self, request, machine, run)))

    def _make(self, given: Mapping[str, Any]) -> Graph:
        for name in ("weights", "activations"):
            if given[name]:
                canonical(given[name])
        graph = self.graph.make(given)
        for one in graph.operators:
            types = sorted({graph.values[view.base].dtype for view in one.inputs})
            if isinstance(one.spec, Product) and len(types) > 1 and {bits(name) for name in types} != {8}:
                raise InputError(
                    f"node {one.label!r} multiplies {' and '.join(types)}; the matrix engine takes one type: give weights and "
                    "activations of the same"
                )
        return graph

    def _tell(self, graph: Graph, peak: Any, held: Mapping[str, int], result: RunResult) -> RunResult:
        """The result with the answer for the graph."""
        from kernbench.frontends.network_energy import tell_energy
        from kernbench.workloads.sip.answer import list_inexact, time_marks
        from kernbench.workloads.sip.graph_answer import tell_graph
        from kernbench.workloads.sip.quiet import is_quiet

        session = result.device.session
        (ran,) = self.ran
        spans = time_marks(ran.marks, ran.launches, session.op_issue_fs, session.op_end_fs)
        inexact = list_inexact(session.machine, quiet=is_quiet(session, ran.launches[0]))
        told = tell_graph(graph, self.units, spans, peak, held, inexact)
        energy = tell_energy(result, told, ran)
        of_item = {"joules_per_item": energy["joules_per_token"], "items_per_joule": energy["tokens_per_joule"]}
        return replace(
            result, network={**told, **energy, **of_item, "joules_per_token": None, "tokens_per_joule": None}
        )

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`."""
        return graph_tables(result)


def _say_shape(graph: Graph, view: Any) -> str:
    return f"{graph.values[view.base].dtype}[{', '.join(map(str, view.shape))}]"


def find_workload(name: str) -> GraphWorkload:
    """A graph by its name or its path. Errors: InputError."""
    found = find_graph(name)
    ran: list[Ran] = []

    def run(torch: Any, **given: Any) -> None:
        from kernbench.workloads.sip.graph_program import run_units

        del given
        (graph,) = workload.graphs
        ran[:] = [run_units(torch, graph, [unit for unit, _ in workload.units], found)]

    axes = dict(found.axes)
    meanings = "".join(f"    {name}: size of this axis of the file\n" for name in axes if name != "batch")
    bench = Bench(
        found.name,
        found.description,
        {**axes, **networks.OF_GRAPHS},
        found.file,
        run,
        choices=networks.GRAPH_CHOICES,
        docs=(None, DOCS + meanings),
        line=1,
    )
    workload = GraphWorkload(bench, name, found.file, found, [], [], ran)
    return workload
