"""Placing tensors on a SIP, and where its PEs find them."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError, OutOfMemoryError
from kernbench.host.device.sip import Sip
from kernbench.host.memory.address_models import VirtualAddresses
from kernbench.host.memory.page_table import PageMap
from kernbench.host.memory.placement import STRATEGIES, DPPolicy
from kernbench.host.memory.tensor_layout import Layout
from kernbench.host.messages import MmuMap
from kernbench.machine import load_machine
from kernbench.replay.store import MemoryStore
from kernbench.replay.virtual_memory import VirtualMemory

SLICE = 6 << 30


@pytest.fixture
def sip() -> Sip:
    return Sip(load_machine("tiny"), 0)


def make(sip: Sip, shape: tuple[int, ...], policy: DPPolicy) -> Layout:
    """A tensor that MMUs have been told of."""
    placed = sip.place("a", shape, "f16", policy)
    sip.addresses.install(MmuMap("a", 0, placed.targets))
    return placed.layout


def page_map(sip: Sip, cube: int, pe: int) -> PageMap:
    assert isinstance(sip.addresses, VirtualAddresses)
    return sip.addresses.map_of(cube, pe)


def test_out_of_memory_names_all_and_leaves_nothing_allocated(sip: Sip) -> None:
    first = sip.place("a", (SLICE // 4,), "f16", DPPolicy())
    with pytest.raises(OutOfMemoryError) as error:
        sip.place("b", (SLICE // 2,), "f16", DPPolicy())
    assert str(error.value) == (
        "tensor 'b' needs 6442450944 bytes in the HBM slice of sip0.cube0.pe0, whose largest free block is 3221225472 of "
        "6442450944 bytes; spread it over more PEs or free another"
    )
    assert sip.pools.free_bytes("hbm", 1, 1) == SLICE // 2
    sip.release(first.layout)
    assert sip.place("b", (SLICE // 2,), "f16", DPPolicy()).layout.va == first.layout.va


def test_a_failure_at_the_last_pe_gives_back_what_the_others_held(sip: Sip) -> None:
    sip.place("a", (2, SLICE // 2), "i8", DPPolicy(cube="row_wise", num_pes=1))
    before = [sip.pools.free_bytes("hbm", cube, pe) for cube in (0, 1) for pe in (0, 1)]
    with pytest.raises(OutOfMemoryError):
        sip.place("b", (SLICE,), "i8", DPPolicy(num_cubes=1))
    assert [sip.pools.free_bytes("hbm", cube, pe) for cube in (0, 1) for pe in (0, 1)] == before


def test_no_virtual_addresses_left() -> None:
    sip = Sip(load_machine("tiny", {"mmu.va_bytes": "8 KiB"}), 0)
    with pytest.raises(OutOfMemoryError) as error:
        sip.place("a", (8193,), "i8", DPPolicy())
    assert str(error.value) == (
        "tensor 'a' needs 8193 virtual addresses on sip0, whose largest free range is 8192; free another tensor"
    )
    assert sip.pools.free_bytes("hbm", 0, 0) == SLICE


@pytest.mark.parametrize(("axis", "have"), [("num_cubes", "2 cubes"), ("num_pes", "2 PEs in a cube")])
def test_more_parts_than_there_are(sip: Sip, axis: str, have: str) -> None:
    with pytest.raises(InputError) as error:
        sip.place("a", (4,), "f16", DPPolicy(**{axis: 3}))
    assert str(error.value) == f"DPPolicy {axis}=3, but sip0 has {have}; give at most 2"


@pytest.mark.parametrize("cube", STRATEGIES)
@pytest.mark.parametrize("pe", STRATEGIES)
@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (7,)])
def test_every_pe_sees_the_whole_tensor_in_the_order_of_its_parts(
    sip: Sip, cube: str, pe: str, shape: tuple[int, ...]
) -> None:
    array = np.arange(np.prod(shape), dtype=np.float16).reshape(shape)
    layout = make(sip, shape, DPPolicy(cube, pe))
    store, locate = MemoryStore(), sip.machine.places.memory_of
    layout.scatter(store, lambda: array, locate)
    assert (layout.gather(store, locate) == array).all()
    seen = [
        VirtualMemory(store, page_map(sip, c, p).translate).read(layout.va, (array.size,), "f16")
        for c in (0, 1)
        for p in (0, 1)
    ]
    assert all(sorted(view) == array.reshape(-1).tolist() for view in seen)
    assert all((view == seen[0]).all() for view in seen)


def test_a_replicated_tensor_is_each_pes_own_copy(sip: Sip) -> None:
    layout = make(sip, (4,), DPPolicy())
    homes = [page_map(sip, c, p).translate(layout.va, 8) for c in (0, 1) for p in (0, 1)]
    places = sip.machine.places
    assert homes == [[(places.hbm(0, c, p), 0, 8)] for c in (0, 1) for p in (0, 1)]
    store = MemoryStore()
    layout.scatter(store, lambda: np.zeros(4, np.float16), places.memory_of)
    VirtualMemory(store, page_map(sip, 1, 1).translate).write(layout.va, np.ones(4, np.float16))
    assert layout.gather(store, places.memory_of).tolist() == [0, 0, 0, 0]


def test_pes_that_are_told_the_same_share_one_map(sip: Sip) -> None:
    for _ in range(2):
        make(sip, (8, 8), DPPolicy("row_wise", "column_wise"))
    assert len({id(page_map(sip, c, p)) for c in (0, 1) for p in (0, 1)}) == 1


def test_a_physical_address_needs_no_mapping(sip: Sip) -> None:
    assert page_map(sip, 0, 0).translate(4096, 8) == [(sip.machine.places.hbm(0, 0, 0), 4096, 8)]
