"""Traces of flows: slices from start to completion, arrows to each destination, filters."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from kernbench.cli.main import main
from kernbench.machine import load_machine
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import FlowResult, run_flows
from kernbench.traffic.trace import write_trace
from tests.trace.decoded import Decoded, decode

MESH = ("node[0][0]:node[3][4]:4KiB@100", "node[0][1]:node[3][4]:4KiB@100", "node[0][0]:node[1][1]+node[2][0]:512@300")
PES = ("host:sip0.cube1.pe1:8KiB", "sip0.cube0.pe0:sip0.cube1.pe1:64KiB:read", "sip0.cube0.pe1:sip0.cube1.pe0:4KiB@50")


def run(machine: str, texts: tuple[str, ...], file: Path, *filters: str) -> tuple[FlowResult, Decoded]:
    found = run_flows(
        load_machine(machine), parse_flows(texts), on_finished=lambda run: write_trace(run, file, filters)
    )
    return found, decode(file)


@pytest.mark.parametrize(("machine", "texts"), [("mesh_8x8", MESH), ("mesh_8x8_credit", MESH), ("tiny", PES)])
def test_each_flow_is_a_slice_with_an_arrow_to_its_destinations(
    machine: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    result, found = run(machine, texts, tmp_path / "flows.pftrace")
    own = {one.arguments["flow"]: one for one in found.slices if "flow" in one.arguments}
    assert sorted(own) == list(range(len(texts)))
    ends = defaultdict(set)
    for one in found.slices:
        for flow in one.flows:
            ends[flow].add(found.path(one))
    assert len(ends) == sum(text.count("+") + 1 for text in texts)
    assert all(len(paths) == 2 for paths in ends.values())
    for flow, one in own.items():
        assert (one.start_fs, one.end_fs) == (result.flows.start_fs[flow], result.end_fs[flow])
        assert one.arguments["bytes"] == result.flows.nbytes[flow]
        assert one.name == ("read" if result.flows.read[flow] else "write")
    assert {names[1] for names in found.tracks.values() if len(names) == 3} >= {"utilisation"}


def test_filters_select_flows(tmp_path: Path) -> None:
    _, found = run("mesh_8x8", MESH, tmp_path / "flows.pftrace", "part=node[0][0]", "time=..200", "kind=memory")
    assert [one.arguments["flow"] for one in found.slices if "flow" in one.arguments] == [0]
    assert not found.counters


def test_the_command_writes_it_and_refuses_what_is_no_run_of_flows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flows.pftrace"
    assert main(["probe", "-t", "mesh_8x8", "--flow", MESH[0], "--trace", str(file)]) == 0
    assert f"wrote {file}" in capsys.readouterr().out.replace("\n", "")
    assert len(decode(file).slices) == 2
    assert main(["probe", "-t", "mesh_8x8", "--pattern", "uniform", "--trace", str(file)]) == 2
    assert "--trace writes the flows of one run; give --flow or --flows with it" in capsys.readouterr().err
