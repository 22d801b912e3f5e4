"""Messages between PEs: what they carry and when, recorded and live alike."""

import numpy as np
import pytest

from tests.tl.mesh import BASE, A, B, C, both, line


def numbers(mesh, where, n, dtype="f16", offset=0):
    return mesh.memory[where].read(BASE + offset, (n,), dtype)


def test_a_message_carries_numbers():
    def left(*, tl):
        tl.send("E", tl.arange(0, 64, "f16"))

    def right(*, tl):
        tl.store(BASE, tl.recv("W", (64,)) + 1.0)

    run = both({A: left, B: right}, line(A, B))
    assert (numbers(run.mesh, B, 64) == np.arange(1, 65)).all()


def test_from_anywhere():
    def end(value, cycles, way):
        def kernel(*, tl):
            for i in range(3):
                tl.cycles(cycles)
                tl.send(way, tl.full(8, value + i))

        return kernel

    def middle(*, tl):
        for i in range(6):
            tl.store(BASE + 16 * i, tl.recv(shape=8))

    run = both({A: end(10, 100, "E"), C: end(20, 250, "W"), B: middle}, line(A, B, C))
    assert numbers(run.mesh, B, 48)[::8].tolist() == [10, 11, 20, 12, 21, 22]
