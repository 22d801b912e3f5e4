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
from kernbench.traffic.noc_trace.replays import TOPOLOGY, NocReplays, replay_traces
from kernbench.traffic.probe_suite import Survey, run_survey
from kernbench.traffic.run import FlowResult, check_waits, run_flows

Flows = Sequence[str] | Path
Traces = str | Path | Sequence[str | Path]


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
    topology: str | Path = TOPOLOGY,
    *,
    noc_traces: Traces,
    closed_loop: bool = False,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
) -> NocReplays: ...
@overload
def probe(
    topology: str | Path = "sip_2x4x4", *, overrides: Mapping[str, object] | None = None, mode: str = "hybrid"
) -> Survey: ...
def probe(
    topology: str | Path | None = None,
    *,
    flows: Flows | None = None,
    pattern: str | None = None,
    noc_traces: Traces | None = None,
    closed_loop: bool = False,
    load: str | float | Sequence[float] = "0.05:0.6:0.05",
    packet_flits: int = PACKET_FLITS,
    seed: int = 0,
    window: int = WINDOW,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    count_waits: bool = False,
) -> FlowResult | Curve | NocReplays | Survey:
    """Send traffic over a machine, by default `sip_2x4x4`; alone, measure its standard cases.

    `flows` are texts such as "node[0][0]:node[3][4]:4KiB@100", or the path of a CSV file. `pattern` is "uniform",
    "transpose" and others, at each `load` (a number, several, or "0.05:0.6:0.05"), in packets of `packet_flits` flits, over
    `window` flit times.
    `noc_traces` are files of Tenstorrent's NoC profiler, or directories of them, replayed on a chip, by default
    `wormhole_n150`; with `closed_loop` what follows a barrier follows its simulated end.
    `count_waits` counts what flits wait for on a machine with credits; replays always have it.
    Errors: InputError for what cannot be sent there, for a directory without traces, or for several kinds of traffic.
    A trace that cannot be replayed is one of `NocReplays.errors`, unless none can.
    """
    if sum(one is not None for one in (flows, pattern, noc_traces)) > 1:
        raise InputError(
            "probe sends one kind of traffic: give flows, a pattern or NoC traces, or nothing to measure the machine"
        )
    if noc_traces is not None:
        given = [noc_traces] if isinstance(noc_traces, str | Path) else noc_traces
        paths = list(map(Path, given))
        found = replay_traces(paths, topology or TOPOLOGY, overrides=overrides, mode=mode, closed_loop=closed_loop)
        if not found.replays:
            raise found.errors[0]
        return found
    if closed_loop:
        raise InputError("closed_loop says how NoC traces are replayed; give noc_traces with it")
    topology = topology or "sip_2x4x4"
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
