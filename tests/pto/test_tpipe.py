"""TPipe: the document's example, periods of credits, and the mistakes that are found."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kernbench.errors import KernBenchError
from kernbench.pto.api import (
    PTO2_WORKER_CUBE,
    PTO2Runtime,
    make_scalar_param,
    pto2_rt_submit_task,
    pto2_rt_submit_task_spmd,
)
from kernbench.pto.kernels import Kernel
from kernbench.pto.runtime.fatal import FatalCode, FatalError
from kernbench.pto.tpipe import (
    Direction,
    GlobalTensor,
    RecordEvent,
    TileSplitAxis,
    TPipe,
    TPipeError,
    global_tensor,
)
from tests.pto.graphs import launch

NO_SPLIT, UP_DOWN, LEFT_RIGHT = TileSplitAxis
C2V, V2C, BOTH = Direction


def run(cube, vector, nbytes=1 << 20, **fields):
    """Run the two functions on one cluster; each gets an address of `nbytes`. Returns float32[...] what is there at the end."""
    made = launch(kernels={0: Kernel(0, "MIX", "mix", cube=cube, vector=vector)}, **fields)
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


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_both_directions_of_a_pipe_have_rings_of_their_own_in_the_forms_with_a_tile(slots):
    """Each slot goes to the vector cores and comes back while the next ones are under way."""
    count, seen = 9, []

    def cube(core, base):
        pipe = TPipe(0, BOTH, 128, slots, base)
        for at in range(count):
            core.TPUSH(pipe, np.full((2, 16), at, np.float32))
            if at:
                seen.append(core.TPOP_TILE(pipe, (2, 16))[:, 0].tolist())
        seen.append(core.TPOP_TILE(pipe, (2, 16))[:, 0].tolist())

    def vector(core, base):
        pipe = TPipe(0, BOTH, 128, slots, base)
        for _ in range(count):
            core.TPUSH(pipe, core.TPOP_TILE(pipe, (1, 16), "f32", UP_DOWN) * 10 + core.get_subblockid(), UP_DOWN)

    found, _ = run(cube, vector)
    assert seen == [[10 * at, 10 * at + 1] for at in range(count)]
    assert found[32 * slots] == 10 * (count - 1 - (count - 1) % slots), "the second ring is behind the first one"


@pytest.mark.parametrize("way", [C2V, V2C])
def test_tiles_share_the_columns_of_a_slot(way):
    whole, seen = np.arange(64, dtype=np.float32).reshape(4, 16), {}

    def cube(core, base):
        pipe = TPipe(0, way, 256, 2, base)
        if way == C2V:
            core.TPUSH(pipe, whole, LEFT_RIGHT)
        else:
            seen[0] = core.TPOP_TILE(pipe, (4, 16), "f32", LEFT_RIGHT)

    def vector(core, base):
        pipe, own = TPipe(0, way, 256, 2, base), core.get_subblockid()
        if way == C2V:
            seen[own] = core.TPOP_TILE(pipe, (4, 8), "f32", LEFT_RIGHT)
        else:
            core.TPUSH(pipe, whole[:, 8 * own : 8 * own + 8], LEFT_RIGHT)

    run(cube, vector)
    np.testing.assert_array_equal(np.hstack([seen[at] for at in sorted(seen)]), whole)


@pytest.mark.parametrize("seed", range(24))
def test_random_pipes_bring_every_element_of_every_slot(seed):
    """Directions, numbers of slots, splits, forms of both ends and paces are drawn; each slot is compared as a whole."""
    rng = random.Random(seed)
    way, slots, count = rng.choice([C2V, V2C, BOTH]), rng.choice([1, 2, 3, 4, 6, 8]), rng.randrange(1, 20)
    split = rng.choice([UP_DOWN, LEFT_RIGHT])
    forms = ["tile"] if way == BOTH else ["tile", "tensor"]
    pushes_with, pops_with = rng.choice(forms), rng.choice(forms)
    slow = rng.choice(["cube", "vector", "neither"])
    rows, cols = 4, 16
    part = (rows // 2, cols) if split == UP_DOWN else (rows, cols // 2)
    wholes = np.random.default_rng(seed).random((2, count, rows, cols)).astype(np.float32)
    seen = {True: np.zeros_like(wholes[0]), False: np.zeros_like(wholes[0])}  # by whether it came from the cube

    def view(array, core):
        own = core.get_subblockid()
        if core.is_cube:
            return array
        return array[own * part[0] :][: part[0]] if split == UP_DOWN else array[:, own * part[1] :][:, : part[1]]

    def slot(core):
        return GlobalTensor((rows, cols) if core.is_cube else part, (cols, 1))

    def push(core, pipe, at):
        tile = view(wholes[int(core.is_cube)][at], core)
        if pushes_with == "tile":
            core.TPUSH(pipe, tile, split)
        else:
            tensor = slot(core)
            core.TALLOC(pipe, tensor, split)
            core.TSTORE(tensor, tile)
            core.TPUSH(pipe, tensor, split)

    def pop(core, pipe, at):
        tensor = slot(core)
        if pops_with == "tile":
            found = core.TPOP_TILE(pipe, tensor.shape, "f32", split)
        else:
            core.TPOP(pipe, tensor, split)
            found = core.TLOAD(tensor)
            core.TFREE(pipe, tensor, split)
        view(seen[not core.is_cube][at], core)[...] = found

    def act(core, base):
        pipe, pause = (
            TPipe(0, way, 4 * rows * cols, slots, base),
            core.is_cube == (slow == "cube") and slow != "neither",
        )
        for at in range(count):
            if pipe.leads(core.is_cube):
                push(core, pipe, at)
            if pipe.leads(not core.is_cube):
                pop(core, pipe, at)
            if pause and not core.is_cube:
                core.TADDS(np.zeros(20_000, np.float32), 1)
            elif pause:
                core.TMATMUL(np.ones((64, 256), np.float16), np.ones((256, 64), np.float16))

    run(act, act)
    for from_cube in (True, False):
        leads = TPipe(0, way, 1, 1, 0).leads(from_cube)
        np.testing.assert_array_equal(seen[from_cube], wholes[int(from_cube)] if leads else 0)


class Without:
    """A core that leaves one of its calls on pipes out."""

    def __init__(self, core, left_out):
        self._core, self._left_out, self._calls = core, left_out, 0

    def __getattr__(self, name):
        if name not in ("TALLOC", "TPUSH", "TPOP", "TFREE"):
            return getattr(self._core, name)
        self._calls += 1
        return (lambda *_args: None) if self._calls - 1 == self._left_out else getattr(self._core, name)


@pytest.mark.parametrize("left_out", [None, *range(12)])
@pytest.mark.parametrize("where", ["cube", "vector"])
def test_a_call_that_is_left_out_is_told(where, left_out):
    """Three slots go to the vector cores and come back, so each core makes twelve calls; tensors are used again."""
    seen = []

    def act(core, base):
        there, back = TPipe(0, C2V, 128, 2, base), TPipe(2, V2C, 128, 2, base + 4096)
        shape = (2, 16) if core.is_cube else (1, 16)
        pushed, popped = GlobalTensor(shape, (16, 1)), GlobalTensor(shape, (16, 1))
        if (where == "cube") == core.is_cube and core.get_subblockid() == 0:
            core = Without(core, left_out)

        def push(pipe, tile):
            core.TALLOC(pipe, pushed, UP_DOWN)
            core.TSTORE(pushed, tile)
            core.TPUSH(pipe, pushed, UP_DOWN)

        def pop(pipe):
            core.TPOP(pipe, popped, UP_DOWN)
            tile = core.TLOAD(popped)
            core.TFREE(pipe, popped, UP_DOWN)
            return tile

        for at in range(3):
            if core.is_cube:
                push(there, np.full((2, 16), at, np.float32))
                seen.append(pop(back)[:, 0].tolist())
            else:
                push(back, pop(there) + 1)

    if left_out is None:
        run(act, act)
        assert seen == [[1, 1], [2, 2], [3, 3]]
    else:
        with pytest.raises(KernBenchError):
            run(act, act)


def test_calls_return_events_that_later_calls_wait_for():
    events = {}

    def cube(core, base):
        pipe, slot = TPipe(0, C2V, 64, 2, base), global_tensor(0, (16,))
        allocated = core.TALLOC(pipe, slot)
        stored = core.TSTORE(slot, np.zeros(16, np.float32), allocated)
        events["cube"] = [allocated, stored, core.TPUSH(pipe, slot, NO_SPLIT, allocated, stored)]

    def vector(core, base):
        pipe, slot = TPipe(0, C2V, 64, 2, base), global_tensor(0, (16,))
        popped = core.TPOP(pipe, slot)
        core.TLOAD(slot, popped)
        events[core.get_subblockid()] = [popped, core.TFREE(pipe, slot, NO_SPLIT, popped)]
        with pytest.raises(TPipeError, match=r"got the event of the TALLOC of cluster0\.aic; events order the calls"):
            core.TSYNC(events["cube"][0])

    run(cube, vector)
    assert events["cube"] == [RecordEvent("cluster0.aic", call) for call in ("TALLOC", "TSTORE", "TPUSH")]
    assert events[1] == [RecordEvent("cluster0.aiv1", call) for call in ("TPOP", "TFREE")]


@pytest.mark.parametrize("call", ["inside STORE", "inside LOAD"])
def test_a_core_may_load_and_store_in_a_slot_that_it_holds(call):
    run(uses(call), uses("inside LOAD"))


def test_a_task_of_many_blocks_tells_coupled_functions_how_many_and_which():
    seen = []
    kernel = Kernel(0, "MIX", "mix", cube=lambda *args: seen.append(args[1:]), vector=lambda *_args: None)
    made = launch(kernels={0: kernel})
    made.run(lambda o: pto2_rt_submit_task_spmd(PTO2Runtime(o), 0, PTO2_WORKER_CUBE, [make_scalar_param(7)], 3))
    assert sorted(seen) == [(7, 3, 0), (7, 3, 1), (7, 3, 2)]


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
    """A slot in either direction, in the forms with a GlobalTensor."""
    pipe, pushed, popped = TPipe(0, BOTH, 64, 4, base), global_tensor(0, (16,)), global_tensor(0, (16,))
    if not core.is_cube:
        core.TPOP(pipe, popped)
    core.TALLOC(pipe, pushed)
    core.TPUSH(pipe, pushed)


def half_and_half(core, base):
    """A slot from the vector cores to the cube, pushed with a tile and popped with a GlobalTensor."""
    pipe = TPipe(0, BOTH, 64, 4, base)
    if core.is_cube:
        core.TPOP(pipe, global_tensor(0, (16,)))
    else:
        core.TPUSH(pipe, np.zeros(16, np.float32))


def uses(call, *, shape=(16,), slots=4, at=0, flag=0, way=C2V, split=NO_SPLIT):
    """A core that begins to use a slot of 64 bytes, and loads or stores `at` bytes behind its begin, before or after."""

    def act(core, base):
        pipe, slot = TPipe(flag, way, 64, slots, base), global_tensor(0, shape)
        first, second = (core.TALLOC, core.TPUSH) if core.is_cube == (way == C2V) else (core.TPOP, core.TFREE)
        part = global_tensor(base + at, (16,))

        def access():
            if "STORE" in call:
                core.TSTORE(part, np.zeros(16, np.float32))
            else:
                core.TLOAD(part)

        first(pipe, slot, split)
        if call.startswith("inside"):
            access()
        second(pipe, slot, split)
        if call.startswith("after"):
            access()

    return act


def six(core, base):
    for _ in range(6):
        core.TPUSH(TPipe(0, C2V, 64, 5, base), np.zeros(16, np.float32))


def frees_six(core, base):
    for _ in range(6):
        core.TPOP_TILE(TPipe(0, C2V, 64, 5, base), (16,))


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
            "use; use the forms with a tile, or one pipe for each direction",
        ),
        (
            half_and_half,
            half_and_half,
            "cluster0.aic: TPOP of slot 0 of pipe 0 (DIR_BOTH) in another ring than the one that it was pushed into; use the "
            "forms with a tile on both sides, or those with a GlobalTensor",
        ),
        (
            uses("", shape=(17,)),
            idle,
            "cluster0.aic: TALLOC of 68 bytes at byte 0 of slot 0 of pipe 0 (DIR_C2V), whose slots have 64 bytes; give the "
            "pipe larger slots, or take a smaller tensor",
        ),
        (
            pushes(1),
            uses("", split=UP_DOWN),
            "cluster0.aiv1: TPOP of 64 bytes at byte 64 of slot 0 of pipe 0 (DIR_C2V), whose slots have 64 bytes; give the "
            "pipe larger slots, or take a smaller tensor",
        ),
        (
            lambda core, base: core.TPUSH(TPipe(0, C2V, 64, 4, base), np.zeros((2, 16), np.float32)),
            idle,
            "cluster0.aic: TPUSH of 128 bytes at byte 0 of slot 0 of pipe 0 (DIR_C2V), whose slots have 64 bytes; give the "
            "pipe larger slots, or take a smaller tensor",
        ),
        (
            uses("after STORE"),
            pops(1),
            "cluster0.aic: TSTORE in slot 0 of pipe 0 (DIR_C2V) after TPUSH, when others may use it; store between TALLOC and "
            "TPUSH",
        ),
        (
            pushes(1),
            uses("after LOAD"),
            "cluster0.aiv0: TLOAD from slot 0 of pipe 0 (DIR_C2V) after TFREE, when others may use it; load between TPOP and "
            "TFREE",
        ),
        (
            uses("inside STORE", at=64),
            pops(1),
            "cluster0.aic: TSTORE in slot 1 of pipe 0 (DIR_C2V) before TALLOC, when others may use it; store between TALLOC "
            "and TPUSH",
        ),
        (
            uses("inside STORE", at=32),
            pops(1),
            "cluster0.aic: TSTORE of 64 bytes at byte 32 of slot 0 of pipe 0 (DIR_C2V), whose slots have 64 bytes; stay inside "
            "the slot",
        ),
        (
            pushes(1),
            uses("inside STORE"),
            "cluster0.aiv0: TSTORE in slot 0 of pipe 0 (DIR_C2V), which cluster0.aiv0 has popped; its consumers only load from "
            "a slot: store to memory that is no pipe's, or push to a pipe that leads the other way",
        ),
        (
            pushes(2),
            uses("inside LOAD", at=64),
            "cluster0.aiv0: TLOAD from slot 1 of pipe 0 (DIR_C2V) before TPOP, when others may use it; load between TPOP and "
            "TFREE",
        ),
        (
            lambda core, base: core.TSTORE(global_tensor(0, (16,)), np.zeros(16, np.float32)),
            idle,
            "cluster0.aic: TSTORE of a tensor without an address; call TALLOC or TPOP with it before",
        ),
        (
            six,
            frees_six,
            "cluster0.aic: slot 5 of pipe 0 (DIR_C2V) is taken before a free flag says that it is free, since a flag stands "
            "for 2 of 5 slots; give the pipe an even number of slots",
        ),
        (
            pushes(1, flag=15),
            idle,
            "pipe 15 (DIR_C2V) takes flags 15 to 16, but a cluster has flags 0 to 15; give it a flag of 14 or less",
        ),
        (
            lambda core, base: core.TALLOC(TPipe(0, C2V, 64, 4, base), global_tensor(0, (16,)), NO_SPLIT, "stored"),
            idle,
            "cluster0.aic: got an event of type str; give what TSTORE, TALLOC, TPUSH, TPOP or TFREE returns",
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
    with pytest.raises(FatalError) as error:
        run(pushes(1), pops(2))
    assert error.value.fatal_code == FatalCode.SCHEDULER_TIMEOUT
    assert str(error.value).startswith("FATAL: Scheduler timeout: task 0 (MIX) never ends: ")
    assert "cluster0 flag 0 of vector core 0" in str(error.value)


@pytest.mark.parametrize("call", ["TLOAD", "TADDS"])
def test_a_function_that_never_ends_is_a_scheduler_time_out(call):
    """Of transfers, and of operations alone, which others need not wait for."""

    def cube(core, base):
        while call == "TLOAD":
            core.TLOAD(global_tensor(base, (16,)))

    def vector(core, base):
        while call == "TADDS" and core.get_subblockid():
            core.TADDS(np.zeros(16, np.float32), 1)

    with pytest.raises(FatalError) as error:
        run(cube, vector, scheduler_timeout_spins=10_000)
    core = "aic" if call == "TLOAD" else "aiv1"
    assert str(error.value) == (
        f"FATAL: Scheduler timeout: task 0 (MIX) does not end on cluster0.{core}: for 0.0005 s no task was dispatched and none "
        "ended; see what its kernel waits for, or set pto_runtime.scheduler_timeout_spins (fatal code 100)"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, 7, 64, 2, 0), "a pipe with direction 7; give it one of DIR_C2V, DIR_V2C, DIR_BOTH"),
        ((True, C2V, 64, 2, 0), "a pipe with a flag of True; give it a whole number"),
        ((0, C2V, 64.0, 2, 0), "a pipe with a slot size of 64.0; give it a whole number"),
        ((0, C2V, 64, "2", 0), "a pipe with a slot number of '2'; give it a whole number"),
        ((0, C2V, 64, 2, float("nan")), "a pipe with a base of nan; give it a whole number"),
    ],
)
def test_what_no_pipe_can_be(given, said):
    with pytest.raises(TPipeError) as caught:
        TPipe(*given)
    assert str(caught.value) == said
