"""Task graphs as workloads.

Parameters are `case`, `runtime` and those of the cases that runs may choose. One that is not set and differs between these
cases is shown as "": each case has its own value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernbench.errors import InputError, shorten, suggest
from kernbench.frontends import task_graphs
from kernbench.frontends.bench_workloads import refuse_bounds
from kernbench.frontends.frontend import Name, Values, Workload, refuse_family
from kernbench.frontends.graph_result import GraphResult, make_result
from kernbench.frontends.graph_tables import graph_tables
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.request import note_request
from kernbench.frontends.shown import Section, Shown, show_type, show_value
from kernbench.frontends.task_graphs import FOLDER, RUNTIMES
from kernbench.library import shipped, show_path
from kernbench.machine import load_machine
from kernbench.machine.machine import Machine
from kernbench.machine.setting_names import check_names
from kernbench.modes import check_mode
from kernbench.pto.bench import BenchRun, PtoBench, find_bench, run_bench
from kernbench.pto.declarations import check_settable, find_backend
from kernbench.pto.results.run_files import TRACE_KINDS
from kernbench.pto.settings import check_family, read_environment
from kernbench.python_text import read_docstring
from kernbench.runs.parameter_docs import split_docstring
from kernbench.runs.result import RunResult
from kernbench.schema.scalars import Scalar, read_parameter
from kernbench.text_table import TextTable
from kernbench.units import unit_of

CASE, RUNTIME, OF_CASE = "case", "runtime", ""
CASE_VARIABLE = "PA_CASE"
_MEANINGS = {CASE: "one of its cases, which have their own parameters", RUNTIME: "which runtime builds the graph"}


@dataclass(frozen=True, slots=True)
class TaskGraphWorkload(Workload):
    """A task graph, the cases that runs may choose, and how it was asked for."""

    of: PtoBench
    cases: tuple[str, ...]
    given: str

    record = task_graphs.FRONT_END
    trace_kinds = TRACE_KINDS

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.of.name

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return str(self.of.file)

    @property
    def noted(self) -> str:
        """As of `Workload`; the name of one that came with KernBench."""
        return self.of.file.stem if self.of.file.parent == shipped() / FOLDER else str(self.of.file.absolute())

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """As of `Workload`."""
        runtime = str(self.of.runtime.get("runtime", RUNTIMES[-1]))
        return {CASE: self.cases[0], RUNTIME: runtime, **{name: self._default(name) for name in self._names}}

    @property
    def _names(self) -> list[str]:
        return list({name: None for case in self.cases for name in self.of.cases[case]})

    def _default(self, name: str) -> Scalar:
        values = [self.of.cases[case].get(name, OF_CASE) for case in self.cases]
        return values[0] if all(value == values[0] for value in values) else OF_CASE

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`."""
        digest = hashlib.sha256()
        for path in self.of.sources:
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
        return {f"bench {self.given}": digest.hexdigest()}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`."""
        return self.of.sources

    def read(self, name: str, value: object) -> Scalar:
        """As of `Workload`."""
        if name not in self.parameters:
            raise InputError(f"bench {self.name!r} has no parameter {name!r}{suggest(name, self.parameters)}")
        if name == CASE:
            self.of.parameters(str(value), {})
        elif name == RUNTIME:
            find_backend(str(value))
        elif value != OF_CASE:
            like = next(self.of.cases[case][name] for case in self.cases if name in self.of.cases[case])
            check_settable(name, like, self.name)
            return read_parameter(f"parameter {name!r} of bench {self.name!r}", like, value, unit_of(name))
        return str(value)

    def refuse_mode(self, mode: str) -> str | None:
        """As of `Workload`."""
        return refuse_bounds(mode, "task graphs")

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("task graphs", "ascend", topology, family, self.machine)

    def describe(self) -> Shown:
        """As of `Workload`."""
        found = self.of
        text, meanings = split_docstring(read_docstring(found.sources[0]))
        names = dict.fromkeys(parameter for case in found.cases.values() for parameter in case)
        rows = [
            {
                "field": parameter,
                **{case: show_value(values[parameter]) for case, values in found.cases.items() if parameter in values},
                "allowed": show_type(next(values[parameter] for values in found.cases.values() if parameter in values)),
                "meaning": meanings.get(parameter, ""),
            }
            for parameter in names
        ]
        cases = {case: f"{case}{' (default)' if case == found.default_case else ''}" for case in found.cases}
        kernels = [
            {"id": str(number), "name": one.name, "cores": str(one.core_type)} for number, one in found.kernels.items()
        ]
        data = {
            "name": found.name,
            "kind": "pto",
            "description": found.description,
            "file": str(found.file),
            "cases": found.cases,
            "default_case": found.default_case,
            "runtime": dict(found.runtime),
            "kernels": kernels,
            "fields": rows,
        }
        title = Path(self.given).stem
        return Shown(
            title,
            f"{self.record.title}, {found.runtime.get('runtime', '')}",
            found.description,
            show_path(found.file),
            [
                Section("", rows, {"field": "parameter", **cases, "allowed": "may be", "meaning": "meaning"}),
                Section("kernels", kernels, {"id": "func_id", "name": "name", "cores": "cores"}),
            ],
            data,
            text=text if text.rstrip(".") != found.description else "",
            remarks=[f"kernbench run {title} --set case={found.default_case} runs it"],
        )

    def parameter_rows(self) -> list[dict[str, str]]:
        """As of `Workload`."""
        meanings = _MEANINGS | split_docstring(read_docstring(self.of.sources[0]))[1]
        allowed = {CASE: ", ".join(self.of.cases), RUNTIME: ", ".join(RUNTIMES)}
        return [
            {**row, "allowed": allowed.get(row["field"], row["allowed"]), "meaning": meanings.get(row["field"], "")}
            for row in Workload.parameter_rows(self)
        ]

    def read_environment(
        self, environment: Mapping[str, str], given: Mapping[str, object]
    ) -> tuple[dict[str, str], dict[str, object]]:
        """As of `Workload`: the variables of the runtime."""
        named = None if CASE in given else environment.get(CASE_VARIABLE)
        if named is not None and named not in self.of.cases:
            raise InputError(
                f"{CASE_VARIABLE}={shorten(named)} names no case of the bench{suggest(named, self.of.cases)}; unset it, or "
                "give --set case=NAME"
            )
        return {} if named is None else {CASE: named}, read_environment(environment)

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`."""
        check_mode(request.options.mode)
        own = {name: str(value) for name, value in request.parameters.items() if value != OF_CASE}
        case, runtime = own.pop(CASE, None), own.pop(RUNTIME, None)
        known = {CASE: "", RUNTIME: "", **self.of.parameters(case, {})}
        check_names(own, known, request.machine, owner=f"bench {self.name!r}", option="parameters")
        self.of.parameters(case, own)
        find_backend(runtime or str(self.parameters[RUNTIME]))
        machine = load_graph_machine(request)
        again = partial(
            run_bench, self.of, request.machine, case=case, parameters=own, backend=runtime, mode=request.options.mode
        )
        return Prepared(self, machine, lambda: self._run(request, again, case))

    def _run(self, request: Request, again: partial[BenchRun], case: str | None) -> GraphResult:
        options, fields = request.options, request.fields
        options.stage("running the graph")
        run = again(overrides=fields, verify=options.verify)
        parameters = {CASE: case or self.of.default_case, RUNTIME: run.outcome.backend.value, **run.parameters}
        return make_result(
            run.outcome,
            lambda changed, speed: again(overrides={**fields, **changed}, verify=False, speed=speed).outcome,
            bench=self.name,
            mode=options.mode,
            parameters=parameters,
            overrides=fields,
            verified=run.verified,
            mismatches=run.mismatches,
            request=note_request(request, [self], run.outcome.device.machine),
            figures={
                "clusters": run.clusters,
                "block_dim": self.of.runtime.get("block_dim"),
                **run.host_copies_us(),
                "shared_memory_bytes": run.outcome.device.settings.shared_memory_bytes,
            },
        )

    def defaults(self, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """As of `Workload`: those of the case."""
        case = str(parameters.get(CASE, self.of.default_case))
        return {**self.parameters, CASE: self.of.default_case, **self.of.cases.get(case, {})}

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`."""
        assert isinstance(result, GraphResult)
        return graph_tables(result)


def load_graph_machine(request: Request) -> Machine:
    """The machine of a graph. Errors: InputError; of a machine that runs no graphs, this comes first."""
    try:
        machine = load_machine(request.machine, request.fields)
    except InputError:  # a machine of another family lacks the fields: say that instead
        check_family(load_machine(request.machine))
        raise
    check_family(machine)
    return machine


def find(name: Name, values: Values) -> TaskGraphWorkload:
    """A task graph by name, file or folder. Errors: InputError as `pto.bench.find_bench`."""
    found = find_bench(str(name))
    cases = tuple(dict.fromkeys(str(value) for value in values.get(CASE, (found.default_case,))))
    known = tuple(case for case in cases if case in found.cases)
    return TaskGraphWorkload(found, known or (found.default_case,), str(name))
