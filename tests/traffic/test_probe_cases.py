"""The cases of machines."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.traffic.probe_cases import Case, list_cases


def told(topology: str, **fields: object) -> list[str]:
    machine = load_machine(topology, {name.replace("__", "."): value for name, value in fields.items()})
    return [f"{case.family}/{case.name}: {case.flow(1)}" for case in list_cases(machine)]


def test_the_default_machine() -> None:
    assert told("sip_2x4x4") == [
        "h2d/cube0: host:sip0.cube0.pe0:1:write",
        "h2d/cube4: host:sip0.cube4.pe0:1:write",
        "h2d/cube8: host:sip0.cube8.pe0:1:write",
        "h2d/cube12: host:sip0.cube12.pe0:1:write",
        "h2d/farthest PE: host:sip0.cube12.pe7:1:write",
        "d2h/cube0: host:sip0.cube0.pe0:1:read",
        "d2h/cube4: host:sip0.cube4.pe0:1:read",
        "d2h/cube8: host:sip0.cube8.pe0:1:read",
        "d2h/cube12: host:sip0.cube12.pe0:1:read",
        "d2h/farthest PE: host:sip0.cube12.pe7:1:read",
        "pe_dma/own slice: sip0.cube0.pe0:sip0.cube0.pe0:1:write",
        "pe_dma/other slice, near: sip0.cube0.pe0:sip0.cube0.pe1:1:write",
        "pe_dma/other slice, far: sip0.cube0.pe0:sip0.cube0.pe7:1:write",
        "pe_dma/other cube, near: sip0.cube0.pe0:sip0.cube4.pe1:1:write",
        "pe_dma/other cube, far: sip0.cube0.pe0:sip0.cube15.pe7:1:write",
        "pe_dma/other SIP: sip0.cube0.pe0:sip1.cube0.pe0:1:write",
    ]


def test_other_sips_near_and_far() -> None:
    for wiring, far in (("switch", 3), ("direct", 2)):
        found = told("tiny", sips__count=4, sips__wiring=wiring)
        assert [line for line in found if "other SIP" in line] == [
            "pe_dma/other SIP, near: sip0.cube0.pe0:sip1.cube0.pe0:1:write",
            f"pe_dma/other SIP, far: sip0.cube0.pe0:sip{far}.cube0.pe0:1:write",
        ]


def test_what_a_small_machine_lacks_is_left_out() -> None:
    assert [line for line in told("tiny") if line.startswith("pe_dma")] == [
        "pe_dma/own slice: sip0.cube0.pe0:sip0.cube0.pe0:1:write",
        "pe_dma/other slice: sip0.cube0.pe0:sip0.cube0.pe1:1:write",
        "pe_dma/other cube, near: sip0.cube0.pe0:sip0.cube1.pe0:1:write",
        "pe_dma/other cube, far: sip0.cube0.pe0:sip0.cube1.pe1:1:write",
    ]
    assert told("tiny", cube__pes=1, sip__cubes__w=1) == [
        "h2d/cube0: host:sip0.cube0.pe0:1:write",
        "d2h/cube0: host:sip0.cube0.pe0:1:read",
        "pe_dma/own slice: sip0.cube0.pe0:sip0.cube0.pe0:1:write",
    ]


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        ({"k": 8, "torus": False}, ["node[0][1]", "node[0][2]", "node[0][4]", "node[1][7]", "node[7][7]"]),
        ({"k": 8, "torus": True}, ["node[0][1]", "node[0][2]", "node[0][4]", "node[4][4]"]),
        ({"k": 3, "torus": True, "one_way": True}, ["node[0][1]", "node[0][2]", "node[2][2]"]),
        ({"k": 2, "w": 1, "torus": False}, ["node[1][0]"]),
    ],
)
def test_a_bare_network_has_messages_from_its_corner(fields: dict[str, object], ends: list[str]) -> None:
    cases = list_cases(load_machine("mesh_8x8", fields))
    assert {(case.family, case.src, case.kind) for case in cases} == {("messages", "node[0][0]", "write")}
    assert [case.dst for case in cases] == ends
    assert cases[0].name == "1 hop"


def test_a_core_of_a_chip_writes_and_reads_each_by_its_network() -> None:
    """NoC 0 goes east and south, NoC 1 north and west: reads come the way that writes go."""
    assert told("tensix_tiny") == [
        "core_writes/own L1: worker[1][1].niu0:worker[1][1].l1:1:write",
        "core_writes/other L1, near: worker[1][1].niu0:worker[1][2].l1:1:write",
        "core_writes/other L1, far: worker[1][1].niu0:worker[2][2].l1:1:write",
        "core_writes/DRAM, near: worker[1][1].niu0.dram:dram1:1:write",
        "core_writes/DRAM, far: worker[1][1].niu0.dram:dram0:1:write",
        "core_reads/own L1: worker[1][1].niu1:worker[1][1].l1:1:read",
        "core_reads/other L1, near: worker[1][1].niu1:worker[1][2].l1:1:read",
        "core_reads/other L1, far: worker[1][1].niu1:worker[2][2].l1:1:read",
        "core_reads/DRAM, near: worker[1][1].niu1.dram:dram1:1:read",
        "core_reads/DRAM, far: worker[1][1].niu1.dram:dram0:1:read",
    ]
    one_column = told("tensix_tiny", harvested_columns=[2])
    assert "core_writes/other L1: worker[1][1].niu0:worker[2][1].l1:1:write" in one_column


def test_the_host_and_cores_of_each_type_copy() -> None:
    assert told("ascend_tiny") == [
        "host/HBM, write: host:hbm:1:write",
        "host/HBM, read: host:hbm:1:read",
        "aic/L2, write: cluster0.aic:l2:1:write",
        "aic/L2, read: cluster0.aic:l2:1:read",
        "aic/HBM, write: cluster0.aic:hbm:1:write",
        "aic/HBM, read: cluster0.aic:hbm:1:read",
        "aiv/L2, write: cluster0.aiv0:l2:1:write",
        "aiv/L2, read: cluster0.aiv0:l2:1:read",
        "aiv/HBM, write: cluster0.aiv0:hbm:1:write",
        "aiv/HBM, read: cluster0.aiv0:hbm:1:read",
    ]


def test_one_endpoint_has_nobody_to_send_to() -> None:
    with pytest.raises(InputError) as caught:
        list_cases(load_machine("mesh_8x8", {"k": 1}))
    assert str(caught.value) == "machine mesh_8x8 has one endpoint, which has nobody to send to; set k to 2 or more"


def test_a_case_is_a_flow() -> None:
    assert Case("h2d", "cube0", "host", "sip0.cube0.pe0", "read").flow(4096) == "host:sip0.cube0.pe0:4096:read"
