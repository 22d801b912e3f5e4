"""Origins against machines compiled with other fields: every station, every overhead, every figure."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import load_machine
from kernbench.machine.origins import find_origins, may_vary

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("topology", ["tiny", "sip_2x4x4"])
def test_times_follow_from_fields(topology):
    machine = load_machine(topology)
    origins = find_origins(machine)
    fields = {origin.field for origin in (*origins.known, *origins.figures.values())}
    base = {field: machine.figures[field] for field in sorted(fields)}
    values = {field: value * (1.1 + i / 7) or 0.3 + i / 3 for i, (field, value) in enumerate(base.items())}
    other = load_machine(topology, values)

    def fs(index, amount=1):
        origin = origins.known[index]
        return np.rint(origin.fs(np.array(values[origin.field]), amount))

    stations = other.stations
    for station, index in enumerate(origins.service.tolist()):
        assert stations.fs_per_flit[station] == fs(index, machine.flit_bytes), machine.station_name[station]
    for station, index in enumerate(origins.turn.tolist()):
        assert stations.turn_fs[station] == (fs(index) if index >= 0 else 0)
    for edge, node in enumerate(machine.edge_src.tolist()):
        index = int(origins.overhead[edge])
        assert other.node_overhead_fs[node] == (fs(index) if index >= 0 else 0), machine.node_name[node]
    for terminal in other.terminals.values():
        assert terminal.overhead_fs == fs(int(origins.overhead[terminal.first_station]))
    for figure, value in other.figures.items():
        if figure in origins.figures:
            origin = origins.figures[figure]
            assert value == origin.fs(np.array(values[origin.field])), figure
        elif figure not in values:
            assert value == machine.figures[figure], figure


def test_a_bare_network_does_not_vary():
    origins = find_origins(load_machine("mesh_8x8"))
    assert origins.known == ()
    assert (origins.service == -1).all()


def test_what_may_vary_is_known_without_a_machine():
    machine = load_machine("sip_2x4x4")
    assert all(may_vary(field) for field in find_origins(machine).fields)
    for field in ("hbm.channels", "ns_per_mm", "sips.count", "pe.tile_m", "pe_cpu.dispatch_cycles", "parts.hbm"):
        assert not may_vary(field)
