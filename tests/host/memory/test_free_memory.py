"""The memories of a SIP: each PE's own, each cube's."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError, OutOfMemoryError
from kernbench.host.memory.free_memory import Pools
from kernbench.machine import load_machine
from kernbench.machine.machine import Machine

TCM, SCRATCH, NONE = 16 << 20, 1 << 20, 16  # the last: address 0 is none


@pytest.fixture
def machine() -> Machine:
    return load_machine("tiny")


@pytest.fixture
def pools(machine: Machine) -> Pools:
    return Pools(machine, 0)


def test_each_memory_begins_at_its_own_address(machine: Machine, pools: Pools) -> None:
    places = machine.places
    found = {space: pools.allocate(space, 1, 1, 100, "x") for space in ("hbm", "tcm", "sram")}
    assert places.memory_of(found["hbm"].pa)[:2] == (places.hbm(0, 1, 1), 0)
    assert places.memory_of(found["tcm"].pa)[:2] == (places.tcm(0, 1, 1), 16)
    assert places.memory_of(found["sram"].pa)[:2] == (places.sram(0, 1), 0)
    assert all((s.sip, s.cube, s.pe, s.nbytes) == (0, 1, 1, 100) for s in found.values())


def test_blocks_follow_at_their_alignment_and_join_when_freed(pools: Pools) -> None:
    for space, align in (("hbm", 256), ("tcm", 16), ("sram", 16)):
        whole = pools.free_bytes(space, 0, 0)
        first, second, third = (pools.allocate(space, 0, 0, 1, "x") for _ in range(3))
        assert (second.pa - first.pa, third.pa - second.pa) == (align, align)
        pools.free(first)
        assert pools.allocate(space, 0, 0, align, "x").pa == first.pa
        assert pools.allocate(space, 0, 0, 1, "x").pa == third.pa + align
        pools.free(second)
        assert pools.free_bytes(space, 0, 0) == whole - 3 * align


def test_pes_have_their_own_and_a_cube_shares(pools: Pools) -> None:
    assert pools.allocate("tcm", 0, 0, 64, "x").pa != pools.allocate("tcm", 0, 1, 64, "x").pa
    first, second = (pools.allocate("sram", 0, pe, 64, "x") for pe in (0, 1))
    assert second.pa == first.pa + 64
    pools.free(first)
    pools.free(second)
    assert pools.allocate("sram", 0, 0, 128, "x").pa == first.pa


def test_the_scratch_of_kernels_is_never_given_away(pools: Pools) -> None:
    assert pools.allocate("tcm", 0, 0, TCM - SCRATCH - NONE, "x").nbytes == TCM - SCRATCH - NONE
    with pytest.raises(OutOfMemoryError) as error:
        pools.allocate("tcm", 0, 0, 1, "a ring of slots")
    assert str(error.value) == (
        "a ring of slots needs 1 bytes in the TCM of sip0.cube0.pe0, whose largest free block is 0 of 15728624 bytes; "
        "spread it over more PEs or free another"
    )


def test_no_sram_left(pools: Pools) -> None:
    size = pools.free_bytes("sram", 0, 0)
    with pytest.raises(OutOfMemoryError) as error:
        pools.allocate("sram", 0, 1, size + 1, "x")
    assert str(error.value) == (
        f"x needs {size + 1} bytes in the SRAM of sip0.cube0, whose largest free block is {size} of {size} bytes; "
        "spread it over more PEs or free another"
    )
    assert pools.free_bytes("sram", 0, 0) == size


def test_a_space_or_a_place_that_is_not(pools: Pools) -> None:
    with pytest.raises(InputError, match=r"^x cannot lie in 'hmb'; did you mean 'hbm'\? Known: hbm, sram, tcm$"):
        pools.allocate("hmb", 0, 0, 1, "x")
    with pytest.raises(InputError, match=r"^the machine has no sip0\.cube0\.hbm_ctrl\.pe7; it has sip0 to sip0, "):
        pools.allocate("tcm", 0, 7, 1, "x")
