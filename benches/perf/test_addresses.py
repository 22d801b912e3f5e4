"""Addresses: what it costs to find the memory behind one while a program is written. The yardstick is a bisection in Python."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from time import perf_counter

import numpy as np

from benches.perf.figures import Figures
from kernbench import DPPolicy
from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.host.torch.tensor import Tensor
from kernbench.machine import load_machine

TENSORS, TILES, TILE_BYTES = 8, 16_384, 4096


def make_tensors(model: str) -> tuple[RuntimeContext, list[Tensor]]:
    """Tensors of 16 MiB over all PEs of a SIP of the default machine."""
    machine = load_machine("sip_2x4x4", {"mmu.model": model})
    torch = RuntimeContext(Device(machine), range(machine.places.sip_count), seed=0)
    split = DPPolicy("row_wise", "column_wise")
    return torch, [torch.zeros((4096, 2048), dp=split) for _ in range(TENSORS)]


def tiles(first: int) -> tuple[np.ndarray, np.ndarray]:
    """The addresses of all tiles of a tensor, in no order, and their bytes."""
    drawn = np.random.default_rng(0).permutation(TILES // 4).repeat(4)
    return first + drawn * TILE_BYTES, np.full(TILES, TILE_BYTES)


def ns_each(va: np.ndarray, nbytes: np.ndarray, translate_many: Callable[[np.ndarray, np.ndarray], object]) -> float:
    """Nanoseconds an address, many at a time."""
    begun = perf_counter()
    translate_many(va, nbytes)
    return (perf_counter() - begun) / len(va) * 1e9


def ns_alone(va: list[int], translate: Callable[[int, int], object]) -> float:
    """Nanoseconds an address, one by one."""
    begun = perf_counter()
    for address in va:
        translate(address, TILE_BYTES)
    return (perf_counter() - begun) / len(va) * 1e9


def bisection_ns(va: list[int]) -> float:
    """Nanoseconds a bisection in a list of as many addresses as a tensor has parts."""
    starts = sorted(va[:128])
    begun = perf_counter()
    for address in va:
        bisect_right(starts, address)
    return (perf_counter() - begun) / len(va) * 1e9


def test_a_translation(figures: Figures) -> None:
    """Of tiles, as a pipeline's plan needs them, and of loads one after the other."""
    torch, tensors = make_tensors("va")
    mapped = torch.driven.map_of(0, 0, 0)
    va, nbytes = tiles(tensors[3].data_ptr())
    physical = tiles(0)
    listed = va.tolist()
    yardstick, many, fallback, alone = figures.side_by_side(
        lambda: bisection_ns(listed),
        lambda: ns_each(va, nbytes, mapped.translate_many),
        lambda: ns_each(*physical, mapped.translate_many),
        lambda: ns_alone(listed, mapped.translate),
    )
    figures.show("address translation: of a tile in a plan", many, "ns", "≤ 200")
    figures.show("address translation: of a tile that is not mapped", fallback, "ns", "≤ 200")
    figures.show("address translation: of a load by itself", alone, "ns")
    figures.ratio("bisection over translation of a tile", yardstick / many)
    figures.ratio("bisection over translation of a load", yardstick / alone)


def ms_a_tensor(model: str) -> float:
    """Milliseconds to place a tensor over 128 PEs and to write the messages that tell them."""
    begun = perf_counter()
    make_tensors(model)
    return (perf_counter() - begun) / TENSORS * 1e3


def test_a_tensor(figures: Figures) -> None:
    """Making one over all PEs of a SIP, told of or not."""
    ms_a_tensor("va")
    virtual, physical = figures.side_by_side(lambda: ms_a_tensor("va"), lambda: ms_a_tensor("pa"))
    figures.show("a tensor over 128 PEs: placed, and MMUs told", virtual, "ms")
    figures.show("a tensor over 128 PEs: placed", physical, "ms")
