"""Launches of Triton kernels that a bench does not make: what a run keeps and shows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernbench.errors import InputError
from kernbench.frontends.bench_tables import summary_tables
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.frontend import refuse_family
from kernbench.frontends.prepared import Prepared, Request
from kernbench.runs.result import RunResult
from kernbench.text_table import Column, TextTable
from kernbench.triton.whole_file import Launch
from kernbench.units import FS_PER_NS


@dataclass(frozen=True, slots=True)
class TritonWorkload(BenchWorkload):
    """What launches kernels of Triton; `launches` are those of its last run, in their order."""

    launches: list[Launch] = field(default_factory=list[Launch])

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("kernels of Triton", "sip", topology, family, self.machine)

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`; the result has the launches."""
        if request.options.verify:
            raise InputError(
                f"{self.name} states nothing that its numbers should equal; a bench does, with torch.expect"
            )
        prepared = BenchWorkload.prepare(self, request)

        def run() -> RunResult:
            result = prepared.run()
            return replace(result, kernel_launches=tuple(_lines(self.launches, result)))

        return replace(prepared, run=run)

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`, with a line for each launch."""
        return [*summary_tables(result, states_numbers=False), *_launch_table(result)]


def _lines(launches: Sequence[Launch], result: RunResult) -> list[dict[str, Any]]:
    """What is known of each launch, in JSON's types; its time in ns, None where a mode has no events."""
    return [
        {"kernel": one.kernel, "line": one.line, "grid": list(one.grid), "ns": ns, "arguments": dict(one.arguments)}
        for one, ns in zip(launches, _times(result), strict=True)
    ]


def _times(result: RunResult) -> list[float | None]:
    """The time of each launch, from its barrier to its last PE, ns."""
    if result.binding is not None:
        return [None for _ in result.launches]
    session = result.device.session
    issued, ended = session.op_issue_fs, session.op_end_fs
    return [one.pe_exec_fs(issued, ended) / FS_PER_NS for one in result.launches]


def _launch_table(result: RunResult) -> list[TextTable]:
    lines = result.kernel_launches
    if not lines:
        return []
    columns = [
        Column("launch", [str(number) for number in range(len(lines))], right=True),
        Column("kernel", [one["kernel"] for one in lines]),
        Column("grid", [" x ".join(map(str, one["grid"])) for one in lines]),
        Column("ns", ["" if one["ns"] is None else f"{one['ns']:,.3f}" for one in lines], right=True),
        Column(
            "arguments", [", ".join(f"{name}={value}" for name, value in one["arguments"].items()) for one in lines]
        ),
    ]
    return [TextTable(columns)]
