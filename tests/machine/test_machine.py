from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine


def test_parts_are_found_by_path():
    machine = load_machine("tiny")
    assert machine.node_name[machine.find_node("sip0.cube1.sram")] == "sip0.cube1.sram"
    sentence = r"^machine tiny has no part 'sip0.cube1.srem'; did you mean 'sip0.cube1.sram'\? Known: "
    with pytest.raises(InputError, match=sentence):
        machine.find_node("sip0.cube1.srem")


def test_tables_have_a_row_for_each():
    machine = load_machine("tiny")
    nodes = (
        machine.node_kind,
        machine.node_x_mm,
        machine.node_y_mm,
        machine.node_overhead_fs,
        machine.node_store_and_forward,
    )
    assert {len(table) for table in nodes} == {machine.node_count}
    edges = (machine.edge_dst, machine.edge_kind, machine.edge_um, machine.edge_weight, machine.edge_gbs)
    assert {len(table) for table in edges} == {machine.edge_count}
    assert {len(table) for table in machine.stations} == {len(machine.station_name)}
    assert len(machine.server_kind) == len(machine.server_slots) == len(machine.server_name)
