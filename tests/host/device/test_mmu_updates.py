"""Messages to MMUs: where they end, what they carry, and when maps change."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from kernbench.errors import AddressError
from kernbench.host.memory.placement import DPPolicy
from kernbench.host.messages import MapEntry, MmuMap, MmuUnmap
from kernbench.host.torch.context import RuntimeContext
from tests.host.conftest import Make

SPLIT = DPPolicy("row_wise", "column_wise")
BEYOND = 1 << 45  # no physical address of this machine


def messages(torch: RuntimeContext, name: str) -> dict[str, list[int]]:
    """Bytes of the messages of a name, by the part at which they end."""
    program, machine = torch.driven.program, torch.driven.machine
    torch.synchronize()
    found: dict[str, list[int]] = {}
    for row in program.op[(program.op[:, 0] == 2) & (program.op_tag == program.tag(name))]:
        end = machine.edge_dst[machine.routing.edges(int(row[1]))[-1]]
        found.setdefault(machine.node_name[end], []).append(int(row[2]))
    return found


def test_a_mapping_travels_to_the_mmu_of_every_pe_and_back(make: Make) -> None:
    torch = make()
    tensor = torch.zeros((4, 4), dp=SPLIT)
    sent = messages(torch, "mmu_map")
    entry, header = 16, 64
    assert sent == {
        "sip0.io0.io_cpu": [header + 4 * entry, header, header],  # down, then the answers of two cubes
        "sip0.cube0.m_cpu": [header + 4 * entry],
        "sip0.cube1.m_cpu": [header + 4 * entry],
        **{f"sip0.cube{cube}.pe{pe}.pe_mmu": [header + 4 * entry] for cube in (0, 1) for pe in (0, 1)},
        "sip0.io0.pcie_ep": [header],
    }
    assert torch.driven.session.now_fs > 2 * torch.driven.machine.figures["m_cpu.overhead"]
    del tensor
    gc.collect()
    assert messages(torch, "mmu_unmap") == {}
    torch.zeros(4)
    assert messages(torch, "mmu_unmap") == sent


def test_copies_are_told_to_their_own_pe_alone(make: Make) -> None:
    torch = make()
    torch.zeros((4, 4))
    sent = messages(torch, "mmu_map")
    assert sent["sip0.cube1.pe0.pe_mmu"] == [64 + 16]
    assert sent["sip0.cube1.m_cpu"] == [64 + 2 * 16]


def test_bytes_of_an_entry_are_a_field(make: Make) -> None:
    torch = make(mmu__entry_bytes=40)
    torch.zeros((4, 4), dp=SPLIT)
    assert messages(torch, "mmu_map")["sip0.cube0.pe0.pe_mmu"] == [64 + 4 * 40]


def update(torch: RuntimeContext, kind: type[MmuMap], entries: Any) -> None:
    torch.driven._update_mmus(kind("x", 0, {0: {0: tuple(entries)}}))


def test_of_two_mappings_in_one_page_the_later_wins_where_they_overlap(make: Make) -> None:
    torch = make()
    a, b = torch.zeros(256, "i8").shards[0], torch.zeros(256, "i8").shards[3]
    update(torch, MmuMap, [MapEntry(BEYOND, a)])
    update(torch, MmuMap, [MapEntry(BEYOND + 128, b)])
    mapped, places = torch.driven.map_of(0, 0, 0), torch.driven.machine.places
    at_a, at_b = places.memory_of(a.pa), places.memory_of(b.pa)
    assert mapped.translate(BEYOND, 384) == [(*at_a[:2], 128), (*at_b[:2], 256)]
    node, offset = mapped.translate_many(np.array([BEYOND, BEYOND + 100, BEYOND + 200]), np.array([128, 28, 10]))
    assert (node.tolist(), offset.tolist()) == ([at_a[0], at_a[0], at_b[0]], [at_a[1], at_a[1] + 100, at_b[1] + 72])
    update(torch, MmuUnmap, [MapEntry(BEYOND + 128, b)])
    assert torch.driven.map_of(0, 0, 0).translate(BEYOND, 128) == [(*at_a[:2], 128)]
    for pe in (0, 1):  # the other one was never told
        with pytest.raises(
            AddressError, match=r"^address 0x2000000000[08]0 is mapped by no tensor and is not the physical "
        ):
            torch.driven.map_of(0, 0, pe).translate(BEYOND, 129)


def test_a_launch_keeps_the_map_that_it_was_recorded_under(make: Make) -> None:
    torch = make()
    x = torch.zeros(8, "f32", SPLIT)
    before = torch.driven.map_of(0, 0, 0)
    where = x.data_ptr()
    found = before.translate(where, 8)
    del x
    gc.collect()
    torch.zeros(4)
    assert before.translate(where, 8) == found
