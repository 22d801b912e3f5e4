"""Descriptors over memories: each byte is moved once, to the memory that has it, from the channel that it is on."""

from types import SimpleNamespace

import numpy as np
import pytest

from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.triton.lowering.descriptors import Descriptors
from kernbench.triton.lowering.tensor_pieces import TensorPieces

MACHINE = load_machine("tiny")
PE = SimpleNamespace(machine=MACHINE, place=MACHINE.places.pe(0, 0, 0))
NODES = [MACHINE.places.hbm(0, 0, 0), MACHINE.places.hbm(0, 0, 1), MACHINE.places.hbm(0, 1, 0)]
PIECES = [(NODES[0], 4096, 1000), (NODES[1], 0, 500), (NODES[2], 8192, 300), (NODES[0], 0, 2000)]


def memories(pieces):
    """The memory of each byte of the tensor."""
    return np.concatenate([np.full(size, node) for node, _, size in pieces])


def bytes_of(start, length, stride, runs):
    return (start + np.arange(runs)[:, None] * stride + np.arange(length)[None, :]).reshape(-1)


@pytest.mark.parametrize("write", [False, True])
def test_each_memory_moves_the_bytes_that_it_has(write):
    rng, tensor, of = np.random.default_rng(11), TensorPieces(PE, PIECES), memories(PIECES)
    kind = RouteKind.WRITE if write else RouteKind.READ
    for _ in range(300):
        runs, length = int(rng.integers(1, 8)), int(rng.integers(1, 200))
        stride = length + int(rng.integers(0, 300)) if runs > 1 else length
        span = (runs - 1) * stride + length
        if span > len(of):
            continue
        start = int(rng.integers(0, len(of) - span + 1))
        found = tensor.find(Descriptors(*(np.array([x]) for x in (start, length, stride, runs))), write=write)
        held = of[bytes_of(start, length, stride, runs)]
        changes = np.flatnonzero(np.diff(held, prepend=-1))  # the pieces that have bytes, in order
        assert found.nbytes.sum() == runs * length
        expected = {node: int((held == node).sum()) for node in set(held.tolist())}
        moved: dict[int, int] = {}
        for route, nbytes in zip(found.route.tolist(), found.nbytes.tolist(), strict=True):
            moved[route] = moved.get(route, 0) + nbytes
        routes = {MACHINE.routing.route(PE.place.dma, node, Intent.PE_DMA, kind): n for node, n in expected.items()}
        assert moved == routes
        assert len(found.route) >= len(changes) or len(set(held.tolist())) == 1


def test_the_channel_is_that_of_the_first_byte():
    found = TensorPieces(PE, PIECES).find(Descriptors(*(np.array([x]) for x in (990, 20, 20, 1))), write=False)
    assert found.nbytes.tolist() == [10, 10]
    assert found.stripe.tolist() == [(4096 + 990) // 256 % 8, 0]


def test_lines_that_reach_beyond_the_tensor_are_moved_whole():
    found = TensorPieces(PE, PIECES).find(Descriptors(*(np.array([x]) for x in (3584, 256, 256, 1))), write=False)
    assert found.nbytes.tolist() == [256]
