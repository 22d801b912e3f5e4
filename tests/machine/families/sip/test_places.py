from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.machine import Address, load_machine
from kernbench.machine.address import MemorySpace


@pytest.fixture(scope="module")
def tiny():
    return load_machine("tiny")


EXTENT = "it has sip0 to sip0, each with cube0 to cube1, each with pe0 to pe1"


def test_parts_by_coordinates(tiny):
    places = tiny.places
    names = {
        places.switch(): "switch",
        places.pcie_ep(0): "sip0.io0.pcie_ep",
        places.io_cpu(0): "sip0.io0.io_cpu",
        places.m_cpu(0, 1): "sip0.cube1.m_cpu",
        places.sram(0, 1): "sip0.cube1.sram",
        places.hbm(0, 1, 1): "sip0.cube1.hbm_ctrl.pe1",
    }
    assert {node: tiny.node_name[node] for node in names} == names


def test_all_ids_of_a_pe(tiny):
    pe = tiny.places.pe(0, 1, 1)
    assert tiny.node_name[pe.router] == "sip0.cube1.r1c2"
    for part in ("cpu", "scheduler", "dma", "fetch_store", "gemm", "math", "tcm", "mmu", "ipcq"):
        assert tiny.node_name[getattr(pe, part)] == f"sip0.cube1.pe1.pe_{part}"
    servers = {
        "cpu_server": ("pe_cpu", "cpu"),
        "scheduler_server": ("pe_scheduler", "scheduler"),
        "fetch_store_server": ("pe_fetch_store", "fetch_store"),
        "gemm_server": ("pe_gemm", "gemm"),
        "math_server": ("pe_math", "math"),
        "dma_read": ("pe_dma.read", "dma_read"),
        "dma_write": ("pe_dma.write", "dma_write"),
        "tcm_read": ("pe_tcm.read", "tcm_read"),
        "tcm_write": ("pe_tcm.write", "tcm_write"),
    }
    for field, (name, kind) in servers.items():
        assert tiny.server_name[getattr(pe, field)] == f"sip0.cube1.pe1.{name}"
        assert tiny.server_kind[getattr(pe, field)] == kind
    assert tiny.places.pe(0, 1, 1) is pe


def test_the_servers_of_processors(tiny):
    for node in (tiny.places.pcie_ep(0), tiny.places.io_cpu(0), tiny.places.m_cpu(0, 0)):
        server = tiny.places.cpu_server(node)
        assert tiny.server_name[server] == tiny.node_name[node]
        assert tiny.server_kind[server] == "cpu"


def test_the_hbm_of_an_address(tiny):
    address = Address(0, 1, MemorySpace.HBM, 1, 4096).encode(tiny.places.shape.slice_bytes)
    assert tiny.places.hbm_of(address) == (tiny.places.hbm(0, 1, 1), 4096)
    with pytest.raises(InputError, match=r"^address 0x10000000000 is not in HBM: SIP 0, die 0, SRAM$"):
        tiny.places.hbm_of(Address(0, 0, MemorySpace.SRAM, 0, 0).encode(1 << 20))


def test_the_memory_of_an_address(tiny):
    places = tiny.places
    memories = {
        places.address_of(0, 1, MemorySpace.HBM, 1, 4096): (places.hbm(0, 1, 1), 4096, 6 * 2**30 - 4096),
        places.address_of(0, 1, MemorySpace.PE, 1, 16): (places.tcm(0, 1, 1), 16, 2**24 - 16),
        places.address_of(0, 1, MemorySpace.SRAM, 0, 64): (places.sram(0, 1), 64, places.shape.sram_bytes - 64),
    }
    assert {address: places.memory_of(address) for address in memories} == memories


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (Address(0, 0, MemorySpace.OTHER, 0, 0), "address 0x18000000000 is in no memory: SIP 0, die 0, OTHER"),
        (Address(0, 0, MemorySpace.PE, 0, 2**24), "address 0x8001000000 is 0x1000000 in a memory of 0x1000000 bytes"),
        (Address(0, 0, MemorySpace.PE, 2, 0), f"the machine has no sip0.cube0.pe2; {EXTENT}"),
        (Address(3, 0, MemorySpace.SRAM, 0, 0), f"the machine has no sip3.cube0.sram; {EXTENT}"),
        (Address(0, 0, MemorySpace.HBM, 2, 0), f"the machine has no sip0.cube0.hbm_ctrl.pe2; {EXTENT}"),
    ],
)
def test_addresses_without_a_memory(tiny, place, sentence):
    with pytest.raises(InputError) as error:
        tiny.places.memory_of(place.encode(tiny.places.shape.slice_bytes))
    assert str(error.value) == sentence


def test_addresses_in_a_tray_of_many_sips():
    places = load_machine("tiny", {"sips.count": 64}).places
    address = places.address_of(63, 1, MemorySpace.HBM, 1, 256)
    assert address >> 51 == 3
    assert places.memory_of(address)[:2] == places.hbm_of(address) == (places.hbm(63, 1, 1), 256)


def test_paths_of_pes(tiny):
    assert tiny.places.find_pe("sip0.cube1.pe0") == (0, 1, 0)
    with pytest.raises(InputError, match=r"^got 'pe0', expected the path of a PE like 'sip0.cube3.pe5'$"):
        tiny.places.find_pe("pe0")
    with pytest.raises(InputError, match=f"^the machine has no sip0.cube2.pe0; {EXTENT}$"):
        tiny.places.find_pe("sip0.cube2.pe0")


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda places: places.pcie_ep(1), "sip1.io0.pcie_ep"),
        (lambda places: places.m_cpu(0, 2), "sip0.cube2.m_cpu"),
        (lambda places: places.hbm(0, 0, -1), "sip0.cube0.hbm_ctrl.pe-1"),
        (lambda places: places.pe(0, 0, 2), "sip0.cube0.pe2"),
    ],
)
def test_coordinates_outside_are_refused(tiny, ask, name):
    with pytest.raises(InputError, match=f"^the machine has no {name}; {EXTENT}$"):
        ask(tiny.places)


def test_the_cube_of_each_node(tiny):
    cube = tiny.places.cube_of()
    assert cube[tiny.places.switch()] == cube[tiny.places.io_cpu(0)] == -1
    assert cube[tiny.places.pe(0, 1, 0).tcm] == cube[tiny.places.hbm(0, 1, 1)] == 1
