"""`kernbench.probe`: traffic over a machine, without kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import overload

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.traffic.curve import Curve, run_curve
from kernbench.traffic.flow_file import read_flows
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.injection_process import PACKET_FLITS, WINDOW, InjectionProcess
from kernbench.traffic.loads import parse_loads
from kernbench.traffic.probe_suite import Survey, run_survey
from kernbench.traffic.run import FlowResult, check_waits, run_flows

Flows = Sequence[str] | Path


@overload
def probe(
    topology: str | Path = "sip_2x4x4",
    *,
    flows: Flows,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    count_waits: bool = False,
) -> FlowResult: ...
@overload
def probe(
    topology: str | Path = "sip_2x4x4",
    *,
    pattern: str,
    load: str | float | Sequence[float] = "0.05:0.6:0.05",
    packet_flits: int = PACKET_FLITS,
    seed: int = 0,
    window: int = WINDOW,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    count_waits: bool = False,
) -> Curve: ...
@overload
def probe(
    topology: str | Path = "sip_2x4x4", *, overrides: Mapping[str, object] | None = None, mode: str = "hybrid"
) -> Survey: ...
def probe(
    topology: str | Path = "sip_2x4x4",
    *,
    flows: Flows | None = None,
    pattern: str | None = None,
    load: str | float | Sequence[float] = "0.05:0.6:0.05",
    packet_flits: int = PACKET_FLITS,
    seed: int = 0,
    window: int = WINDOW,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    count_waits: bool = False,
) -> FlowResult | Curve | Survey:
    """Send traffic over a machine; alone, measure its standard cases.

    `flows` are texts such as "node[0][0]:node[3][4]:4KiB@100", or the path of a CSV file. `pattern` is "uniform",
    "transpose" and others, at each `load` (a number, several, or "0.05:0.6:0.05"), in packets of `packet_flits` flits, over
    `window` flit times.
    `count_waits` counts what flits wait for on a machine with credits.
    Errors: InputError for what cannot be sent there, or for flows and a pattern together.
    """
    if flows is not None and pattern is not None:
        raise InputError("probe sends one kind of traffic: give flows or a pattern, or neither to measure the machine")
    if flows is not None:
        read = (
            read_flows(flows) if isinstance(flows, Path) else parse_flows([flows] if isinstance(flows, str) else flows)
        )
        return run_flows(load_machine(topology, overrides), read, mode, count_waits=count_waits)
    if pattern is not None:
        injection = InjectionProcess(pattern, packet_flits, seed, window)
        given = [load] if isinstance(load, str | float | int) else load
        loads = parse_loads(",".join(map(str, given)))
        machine = load_machine(topology, overrides)
        if count_waits:
            check_waits(machine)
        return run_curve(machine, injection, loads, mode, count_waits=count_waits)
    if count_waits:
        raise InputError("count_waits counts what the flits of traffic wait for; give flows or a pattern with it")
    return run_survey(load_machine(topology, overrides), mode)
