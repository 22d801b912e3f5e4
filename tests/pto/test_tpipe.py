"""TPipe: the document's example, periods of credits, and the mistakes that are found."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import DeadlockError
from kernbench.pto.api import PTO2_WORKER_CUBE, PTO2Runtime, make_scalar_param, pto2_rt_submit_task
from kernbench.pto.kernels import Kernel
from kernbench.pto.tpipe import Direction, GlobalTensor, TileSplitAxis, TPipe, TPipeError, global_tensor
from tests.pto.graphs import launch

UP_DOWN, LEFT_RIGHT = TileSplitAxis.TILE_UP_DOWN, TileSplitAxis.TILE_LEFT_RIGHT
C2V, V2C, BOTH = Direction


def run(cube, vector, nbytes=1 << 20):
    """Run the two functions on one cluster; each gets an address of `nbytes`. Returns float32[...] what is there at the end."""
    made = launch(kernels={0: Kernel(0, "MIX", "mix", cube=cube, vector=vector)})
    device = made.device()
    address = device.memory.allocate(nbytes)
    outcome = made.run(
        lambda o: pto2_rt_submit_task(PTO2Runtime(o), 0, PTO2_WORKER_CUBE, [make_scalar_param(address)]), device
    )
    return device.memory.bytes_at(address, nbytes).view(np.float32), outcome


def test_the_example_of_the_document():
    m, n, repeat = 128, 128, 4
    full, vec_m = n * repeat, 16
    slot = m * full * 4
    out = 2 * slot
    acc = np.random.default_rng(2).uniform(-1, 1, (repeat, m, n)).astype(np.float32)

    def whole(rows):
        return GlobalTensor((1, 1, 1, rows, full), (1, 1, 1, full, 1))

    def cube(core, base):
        pipe, push = TPipe(0, C2V, slot, 2, base), whole(m)
        core.TALLOC(pipe, push, UP_DOWN)
        for tile in range(repeat):
            core.TSTORE(GlobalTensor((1, 1, 1, m, n), (1, 1, 1, full, 1), "f32", push.data(tile * n)), acc[tile])
        core.TPUSH(pipe, push, UP_DOWN)

    def vector(core, base):
        pipe, pop = TPipe(0, C2V, slot, 2, base), whole(m // 2)
        core.TPOP(pipe, pop, UP_DOWN)
        for rows in range(m // (2 * vec_m)):
            local = rows * vec_m
            at = (m // 2 * core.get_subblockid() + local) * full
            shape, stride = (1, 1, repeat, vec_m, n), (1, 1, n, full, 1)
            tile = core.TLOAD(GlobalTensor(shape, stride, "f32", pop.data(local * full)))
            core.TSTORE(GlobalTensor(shape, stride, "f32", base + out + 4 * at), core.TADDS(tile, 3.14))
        core.TFREE(pipe, pop, UP_DOWN)

    found, _ = run(cube, vector, 3 * slot)
    expected = np.concatenate(list(acc), axis=1) + np.float32(3.14)
    np.testing.assert_array_equal(found[out // 4 :].reshape(m, full), expected)


@pytest.mark.parametrize(("slots", "period"), [(1, 1), (2, 2), (4, 2), (6, 3), (8, 4)])
def test_the_period_of_free_flags(slots, period):
    assert TPipe(0, C2V, 64, slots, 0).period == period


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("way", [C2V, V2C])
def test_every_slot_comes_through_in_order_whoever_is_slow(slots, way):
    count, seen = 11, {}

    def cube(core, base):
        pipe = TPipe(0, way, 128, slots, base)
        for at in range(count):
            if way == C2V:
                core.TPUSH(pipe, np.full((2, 16), at, np.float32))
            else:
                seen.setdefault(0, []).append(core.TPOP_TILE(pipe, (2, 16))[:, 0].tolist())
                core.TMATMUL(np.ones((64, 256), np.float16), np.ones((256, 64), np.float16))

    def vector(core, base):
        pipe, own = TPipe(0, way, 128, slots, base), core.get_subblockid()
        for at in range(count):
            if way == V2C:
                core.TPUSH(pipe, np.full((1, 16), 10 * at + own, np.float32), UP_DOWN)
            else:
                seen.setdefault(own, []).append(core.TPOP_TILE(pipe, (1, 16), "f32", UP_DOWN)[0, 0])
                core.TADDS(np.zeros((64, 64 * own + 64), np.float32), 1)

    run(cube, vector)
    if way == C2V:
        assert seen == {0: list(range(count)), 1: list(range(count))}
    else:
        assert seen[0] == [[10 * at, 10 * at + 1] for at in range(count)]


def test_columns_are_split_left_and_right():
    def cube(core, base):
        core.TPUSH(TPipe(0, C2V, 256, 2, base), np.arange(64, dtype=np.float32).reshape(4, 16))

    def vector(core, base):
        pipe, slot = TPipe(0, C2V, 256, 2, base), GlobalTensor((4, 8), (16, 1))
        core.TPOP(pipe, slot, LEFT_RIGHT)
        seen[core.get_subblockid()] = core.TLOAD(slot)
        core.TFREE(pipe, slot, LEFT_RIGHT)

    seen = {}
    run(cube, vector)
    np.testing.assert_array_equal(np.hstack([seen[0], seen[1]]), np.arange(64).reshape(4, 16))


def test_a_producer_waits_for_the_slots_to_be_free():
    """Two slots: the third push cannot begin before both vector cores have freed the first two."""
    at = {}

    def cube(core, base):
        pipe, slot = TPipe(0, C2V, 64, 2, base), global_tensor(0, (16,))
        for push in range(3):
            core.TALLOC(pipe, slot)
            at[push] = core._device.agents.now_fs
            core.TPUSH(pipe, slot)

    def vector(core, base):
        pipe, slot = TPipe(0, C2V, 64, 2, base), global_tensor(0, (16,))
        for _ in range(3):
            core.TPOP(pipe, slot)
            core.TADDS(np.zeros(10_000 * (1 + core.get_subblockid()), np.float32), 1)
            core.TFREE(pipe, slot)
            at.setdefault(("free", core.get_subblockid()), []).append(core._device.agents.now_fs)

    run(cube, vector)
    assert at[1] < at["free", 1][0]
    assert at[2] >= max(at["free", 0][1], at["free", 1][1])


def idle(core, base):
    """A core that does nothing."""


def pops(count, frees=None, flag=0, way=C2V):
    def vector(core, base):
        pipe, slot = TPipe(flag, way, 64, 4, base), global_tensor(0, (16,))
        for at in range(count):
            core.TPOP(pipe, slot)
            if frees is None or at < frees:
                core.TFREE(pipe, slot)

    return vector


def pushes(count, flag=0, way=C2V):
    def cube(core, base):
        for _ in range(count):
            core.TPUSH(TPipe(flag, way, 64, 4, base), np.zeros(16, np.float32))

    return cube


def twice(call):
    def cube(core, base):
        pipe, slot = TPipe(0, C2V, 64, 4, base), global_tensor(0, (16,))
        core.TALLOC(pipe, slot)
        getattr(core, call)(pipe, slot)
        getattr(core, call)(pipe, slot)

    return cube


def two_pipes(core, base):
    core.TPUSH(TPipe(0, C2V, 64, 4, base), np.zeros(16, np.float32))
    core.TPUSH(TPipe(1, C2V, 64, 4, base + 4096), np.zeros(16, np.float32))


def both_ways(core, base):
    pipe = TPipe(0, BOTH, 64, 4, base)
    if core.is_cube:
        core.TPUSH(pipe, np.zeros(16, np.float32))
    else:
        slot = global_tensor(0, (16,))
        core.TPOP(pipe, slot)
        core.TPUSH(pipe, np.zeros(16, np.float32))


@pytest.mark.parametrize(
    ("cube", "vector", "sentence"),
    [
        (twice("TALLOC"), idle, "cluster0.aic: TALLOC on pipe 0 (DIR_C2V) while slot 0 is open; call TPUSH first"),
        (twice("TPUSH"), idle, "cluster0.aic: TPUSH on pipe 0 (DIR_C2V) without a slot; call TALLOC before"),
        (
            pushes(2),
            pops(2, frees=1),
            "cluster0.aiv0 ends with slot 1 of pipe 0 (DIR_C2V) open; pair each TPOP with a TFREE",
        ),
        (
            pushes(2),
            pops(2, frees=0),
            "cluster0.aiv0: TPOP on pipe 0 (DIR_C2V) while slot 0 is open; call TFREE first",
        ),
        (
            pushes(3),
            pops(2),
            "pipe 0 (DIR_C2V) leaks credits: cluster0.aic has pushed 3 slots and cluster0.aiv0 has freed 2; "
            "pop and free as many as are pushed",
        ),
        (
            pushes(4),
            pops(1),
            "pipe 0 (DIR_C2V) leaks credits: cluster0.aic has pushed 4 slots and cluster0.aiv0 has freed 1; "
            "pop and free as many as are pushed",
        ),
        (
            pushes(1),
            idle,
            "pipe 0 (DIR_C2V) leaks credits: cluster0.aic has pushed 1 slots and cluster0.aiv0 has freed 0; "
            "pop and free as many as are pushed",
        ),
        (
            two_pipes,
            idle,
            "pipe 1 (DIR_C2V) and pipe 0 (DIR_C2V) both use flag 1; a pipe takes 2 flags from its own on, so give one of them "
            "a flag of 2 or more",
        ),
        (
            pushes(1, way=V2C),
            idle,
            "cluster0.aic: pipe 0 (DIR_V2C) does not lead from the cube core; change its direction",
        ),
        (
            both_ways,
            both_ways,
            "cluster0.aiv0: slot 0 of pipe 0 (DIR_BOTH) is at the address of slot 0 of pipe 0 (DIR_BOTH), which is still in "
            "use; give the pipes memory of their own, and one pipe to each direction",
        ),
    ],
)
def test_mistakes_are_named(cube, vector, sentence):
    with pytest.raises(TPipeError) as error:
        run(cube, vector)
    assert str(error.value) == sentence


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_a_producer_ends_when_all_that_it_pushed_is_free(slots):
    """The destructor of a pipe takes the free flags that are left; a tile may be given to TPOP as well."""

    def cube(core, base):
        for at in range(slots):
            core.TPUSH(TPipe(0, C2V, 64, slots, base), np.full(16, at, np.float32))

    def vector(core, base):
        for at in range(slots):
            tile = np.zeros(16, np.float32)
            core.TADDS(np.zeros(20_000, np.float32), 1)
            core.TPOP(TPipe(0, C2V, 64, slots, base), tile)
            assert tile.tolist() == [at] * 16

    _, outcome = run(cube, vector)
    ends = {outcome.device.cores[row.core].place.type: row.end_fs for row in outcome.record.blocks}
    assert ends["aic"] > ends["aiv"] - 100 * 10**6


def test_a_pop_that_nobody_pushes_for_is_a_deadlock_that_names_its_flag():
    with pytest.raises(DeadlockError, match=r"cluster0 flag 0 of vector core 0"):
        run(pushes(1), pops(2))
