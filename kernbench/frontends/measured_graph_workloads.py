"""Measured graphs as workloads: the runtime as it is modelled, with tasks that take as long as was measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernbench.errors import InputError
from kernbench.frontends import measured_graphs
from kernbench.frontends.bench_workloads import refuse_bounds
from kernbench.frontends.frontend import Name, Values, Workload, refuse_family
from kernbench.frontends.graph_result import GraphResult, make_result
from kernbench.frontends.graph_tables import graph_tables
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.request import note_request
from kernbench.frontends.shown import Section, Shown
from kernbench.frontends.task_graph_workloads import load_graph_machine
from kernbench.library import show_path
from kernbench.machine.setting_names import check_names
from kernbench.modes import check_mode
from kernbench.pto.replay import replay
from kernbench.pto.results.run_files import TRACE_KINDS
from kernbench.pto.tasks.graph import Graph, load_graph
from kernbench.runs.result import RunResult
from kernbench.schema.scalars import Scalar
from kernbench.text import plural
from kernbench.text_table import TextTable

_COLUMNS = {"field": "tasks", "cores": "cores", "count": "count"}


@dataclass(frozen=True, slots=True)
class MeasuredGraphWorkload(Workload):
    """A measured graph and its file."""

    of: Graph
    file: Path

    record = measured_graphs.FRONT_END
    trace_kinds = TRACE_KINDS

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return str(self.file)

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return str(self.file.absolute())

    @property
    def machine(self) -> str:
        """As of `Workload`: the one that it was measured on."""
        return self.of.machine

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """As of `Workload`."""
        return {}

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`."""
        return {f"graph {self.file}": hashlib.sha256(self.file.read_bytes()).hexdigest()}

    def refuse_mode(self, mode: str) -> str | None:
        """As of `Workload`."""
        return refuse_bounds(mode, "task graphs")

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("task graphs", "ascend", topology, family, self.machine)

    def describe(self) -> Shown:
        """As of `Workload`."""
        counts: dict[tuple[str, str], int] = {}
        for task in self.of.tasks:
            counts[task.name, task.core] = counts.get((task.name, task.core), 0) + 1
        rows = [{"field": name, "cores": core, "count": f"{count:,}"} for (name, core), count in counts.items()]
        said = f"{plural(len(self.of.tasks), 'task')}, measured on {self.machine}"
        data = {
            "name": self.file.stem, "kind": self.record.kind, "description": said, "file": str(self.file.resolve()),
            "machine": self.machine, "runtime": dict(self.of.runtime), "fields": rows,
        }  # fmt: skip
        place = show_path(self.file)
        remarks = [f"kernbench run {place} replays it"]
        return Shown(
            self.file.stem, self.record.title, said, place, [Section("", rows, _COLUMNS)], data, remarks=remarks
        )

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`."""
        check_mode(request.options.mode)
        if request.options.verify:
            raise InputError(f"{self.file} is a measured graph, which computes no numbers that could be verified")
        check_names(request.parameters, (), request.machine, owner=f"graph {str(self.file)!r}", option="parameters")
        return Prepared(self, load_graph_machine(request), lambda: self._run(request))

    def _run(self, request: Request) -> GraphResult:
        mode = request.options.mode
        request.options.stage("replaying the graph")
        outcome = replay(self.of, request.machine, request.fields, mode)
        return make_result(
            outcome,
            lambda fields, speed: replay(self.of, request.machine, {**request.fields, **fields}, mode, speed),
            {"graph": str(self.file)},
            bench=str(self.file),
            mode=mode,
            parameters={},
            overrides=request.fields,
            verified=None,
            mismatches=(),
            request=note_request(request, [self], outcome.device.machine),
        )

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`."""
        assert isinstance(result, GraphResult)
        return graph_tables(result)


def find(name: Name, values: Values) -> MeasuredGraphWorkload:
    """A graph by its path. Errors: InputError as `load_graph`."""
    del values
    return MeasuredGraphWorkload(load_graph(Path(str(name))), Path(str(name)))
