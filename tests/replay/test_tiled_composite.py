"""Composites whose memory changes while they run: recorded, live, and a plain model that makes one access after the other."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.dtypes import numpy_dtype
from kernbench.program.op_semantics import Composite, Constant, Dot, Load, Math, Ref, Store, View
from kernbench.replay.numbers import Numbers
from kernbench.replay.replay import Replay, RunTimes
from kernbench.replay.timed_store import TimedStore
from tests.tl.rig import BASE, BYTES, Rig

SIDE = 40  # of the matrices
SIZE = {"i8": 1, "i16": 2, "f32": 4}
BEGINNING = np.random.default_rng(0).integers(-4, 5, BYTES // 8)


def region(number, dtype):
    """The address of one of the matrices, some of which overlap."""
    return BASE + number * SIDE * SIDE * SIZE[dtype] // 2


def filled(dtype):
    fraction = 0.37 if dtype == "f32" else 1  # whose sums are rounded
    return (BEGINNING * fraction).astype(numpy_dtype(dtype))


def record(kernel, dtype, **machine):
    rig = Rig(**machine)
    times = RunTimes()
    memory = rig.memory.over(TimedStore(times))
    memory.write(BASE, filled(dtype))
    rig.record(kernel)
    replay = Replay(rig.program, lambda _: Numbers(memory), times)
    replay.advance(rig.session.op_issue_fs, rig.session.op_end_fs)
    return rig, memory.read(Ref(BASE, BEGINNING.shape, dtype))


def live(kernel, dtype, **machine):
    rig = Rig(**machine)
    rig.memory.write(BASE, filled(dtype))
    rig.live(kernel)
    return rig, rig.memory.read(BASE, BEGINNING.shape, dtype)


# The model


class Model:
    """Accesses of one PE in the order of their times, each of one tile, in plain numpy."""

    def __init__(self, rig, dtype):
        self.memory, self.dtype, self.values = filled(dtype), dtype, {}
        self.program, self.session = rig.program, rig.session
        self.events = []  # (time, whether it is not of a tile, row, what)
        for row, note in rig.thread.notes.items():
            at = rig.thread.find_row(row)
            if isinstance(note, Composite):
                self.add_composite(at, row, note)
            else:
                time = self.session.op_issue_fs[at] if isinstance(note, Store) else self.session.op_end_fs[at]
                self.events.append((int(time), True, row, 0, partial(self.perform, note)))

    def run(self):
        for *_, what in sorted(self.events, key=lambda event: event[:4]):
            what()
        return self.memory

    def place(self, va, shape):
        at = (va - BASE) // SIZE[self.dtype]
        return self.memory[at : at + int(np.prod(shape))].reshape(shape)  # a view

    def array(self, operand):
        match operand:
            case int():
                return self.values[operand]
            case Constant():
                return np.full(operand.shape, operand.value, numpy_dtype(operand.dtype))
            case View():
                return self.array(operand.of).T
            case Ref():
                return self.place(operand.va, operand.shape)

    def perform(self, note):
        match note:
            case Load():
                self.values[note.out] = self.place(note.va, note.shape).copy()
            case Store():
                self.place(note.va, note.shape)[:] = self.array(note.inputs[0])
            case Dot():
                a, b = map(self.array, note.inputs)
                self.values[note.out] = (a.astype(np.int64) @ b.astype(np.int64)).astype(a.dtype)
            case Math():
                a, b = map(self.array, note.inputs)
                self.values[note.out] = (a.astype(np.int64) + b.astype(np.int64)).astype(numpy_dtype(note.dtype))

    def add_composite(self, at, row, note):
        plan = int(self.program.op[at, 1])
        tensors = [self.array(x) if isinstance(x, (Ref, View)) and self.streams(x) else None for x in note.tensors]
        tile_m, tile_k, tile_n = note.tile
        rows, columns = note.shape
        depth = SIDE if note.kind == "gemm" else 1
        tile_k = tile_k if note.kind == "gemm" else 1
        token = int(self.program.plan_start[plan])
        whole = np.zeros(note.shape, numpy_dtype(note.dtype))
        for m in range(0, rows, tile_m):
            for n in range(0, columns, tile_n):
                taken = []
                for k in range(0, depth, tile_k):
                    stages = range(int(self.program.token_start[token]), int(self.program.token_end[token]))
                    token += 1
                    rectangles = [(slice(m, m + tile_m), slice(n, n + tile_n))] * 2
                    if note.kind == "gemm":
                        rectangles = [
                            (slice(m, m + tile_m), slice(k, k + tile_k)),
                            (slice(k, k + tile_k), slice(n, n + tile_n)),
                        ]
                    taken.append([None] * len(tensors))
                    reads = [stage for stage in stages if self.name(stage) == "dma_read"]
                    for i, tensor in enumerate(tensors):
                        view = self.array(note.tensors[i])[rectangles[i]] if tensor is not None else None
                        if view is None:
                            take = partial(self.take_value, taken[-1], i, note.tensors[i], rectangles[i])
                            time = int(self.session.op_issue_fs[at])
                            self.events.append((time, True, row, 0, take))
                            continue
                        left = view.nbytes
                        while left:
                            left -= int(self.program.op[reads[0], 2])
                            last = reads.pop(0)
                        take = partial(self.take, taken[-1], i, view)
                        self.events.append((int(self.session.op_end_fs[last]), False, row, last, take))
                name = "store" if note.out_va is None else "dma_write"
                written = next(stage for stage in stages if self.name(stage) == name)
                times = self.session.op_end_fs if note.out_va is None else self.session.op_issue_fs
                target = whole if note.out_va is None else self.place(note.out_va, note.shape)
                write = partial(self.write, note, taken, target[m : m + tile_m, n : n + tile_n])
                self.events.append((int(times[written]), False, row, written, write))
        if note.out is not None:
            self.values[note.out] = whole

    def streams(self, operand):
        return isinstance(operand.of if isinstance(operand, View) else operand, Ref)

    def name(self, stage):
        return self.program.tags[self.program.op_tag[stage]][0]

    def take(self, taken, i, view):
        taken[i] = view.copy()

    def take_value(self, taken, i, operand, rectangle):
        taken[i] = self.array(operand)[rectangle]

    def write(self, note, taken, target):
        kind = numpy_dtype(note.acc_dtype)
        total = 0
        for tiles in taken:
            wide = [tile.astype(np.int64) for tile in tiles]
            part = wide[0] @ wide[1] if note.kind == "gemm" else wide[0] + wide[1]
            total = (total + self.steps(note, "k_tile", part.astype(kind))).astype(kind)
        target[:] = self.steps(note, "output_tile", total).astype(target.dtype)

    def steps(self, note, scope, block):
        for step in note.epilogue:
            if step.scope == scope:
                block = np.maximum(block, 0) if step.op == "relu" else block + np.array(3, block.dtype)
        return block


# Kernels

place = st.integers(0, 5)
tile = st.sampled_from([(16, 16, 16), (32, 8, 40), (7, 40, 16)])
EPILOGUES = ([], [{"op": "relu", "scope": "k_tile"}], [{"op": "bias", "bias": 3}, {"op": "relu"}])
step = st.one_of(
    st.tuples(
        st.just("composite"),
        st.sampled_from(["gemm", "math"]),
        st.tuples(place, st.booleans(), st.booleans()),
        st.tuples(place, st.booleans(), st.booleans()),
        st.one_of(st.none(), place),
        st.sampled_from(EPILOGUES),
        tile,
        st.sampled_from([None, "i8", "i16"]),
    ),
    st.tuples(st.just("store"), place, st.integers(1, SIDE), st.integers(-3, 3)),
    st.tuples(st.just("copy"), place, place, st.integers(1, SIDE)),
    st.tuples(st.just("cycles"), st.integers(1, 400)),
    st.tuples(st.just("wait")),
)


def run_steps(steps, dtype, *, tl):
    started = []
    for kind, *given_ in steps:
        if kind == "composite":
            started.append(start(given_, dtype, tl))
        elif kind == "store":
            at, rows, value = given_
            tl.store(region(at, dtype), tl.full((rows, SIDE), value, dtype))
        elif kind == "copy":
            source, target, rows = given_
            tl.store(region(target, dtype), tl.load(region(source, dtype), (rows, SIDE), dtype) + 1)
        elif kind == "cycles":
            tl.cycles(*given_)
        elif started:
            done = started.pop(0)
            tl.wait(done)
            if done.out is not None:
                tl.store(region(3, dtype), done.out)


def start(given_, dtype, tl):
    op, a, b, out, epilogue, tile_shape, acc_dtype = given_

    def operand(at, loaded, transposed):
        x = (tl.load if loaded else tl.ref)(region(at, dtype), (SIDE, SIDE), dtype)
        return tl.trans(x) if transposed else x

    out_ptr = 0 if out is None else region(out, dtype)
    if op == "math":
        epilogue = [step for step in epilogue if step.get("scope") != "k_tile"]
    math_op = "add" if op == "math" else None
    pair = operand(*a), operand(*b)
    how = {"epilogue": epilogue, "tile_shape": tile_shape, "acc_dtype": None if dtype == "f32" else acc_dtype}
    return tl.composite(op, *pair, out_ptr, math_op=math_op, **how)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(step, min_size=2, max_size=9), st.sampled_from(["i8", "i16"]), st.sampled_from([BYTES, 4000, 4816]))
def test_any_kernel_is_the_same_recorded_live_and_in_the_model(steps, dtype, cut):
    kernel = partial(run_steps, steps, dtype)
    rig, recorded = record(kernel, dtype, cut=cut)
    _, alive = live(kernel, dtype, cut=cut)
    model = Model(rig, dtype).run()
    np.testing.assert_array_equal(recorded, model)
    np.testing.assert_array_equal(alive, model)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(step, min_size=2, max_size=9), st.sampled_from([BYTES, 4000, 4816]))
def test_rounded_sums_are_the_same_to_the_last_bit_recorded_and_live(steps, cut):
    """How many tiles are computed at once depends on who reads memory when, which differs between the two."""
    kernel = partial(run_steps, steps, "f32")
    recorded, alive = (mode(kernel, "f32", cut=cut)[1] for mode in (record, live))
    np.testing.assert_array_equal(recorded.view(np.int32), alive.view(np.int32))


@settings(max_examples=15, deadline=None)
@given(st.lists(step, min_size=2, max_size=9))
def test_a_tile_that_is_kept_is_as_it_was_read(steps):
    """Tiles of the second operand are read once and used for many tokens."""
    kernel, stationary = partial(run_steps, steps, "i16"), {"parts.tiling": "weight_stationary"}
    _, recorded = record(kernel, "i16", overrides=stationary)
    _, alive = live(kernel, "i16", overrides=stationary)
    np.testing.assert_array_equal(recorded, alive)


def test_a_kept_tile_does_not_see_what_is_stored_after_its_read():
    def kernel(*, tl):
        b, out = region(2, "i16"), region(8, "i16")
        done = tl.composite("gemm", tl.ref(BASE, (256, 16), "i16"), tl.ref(b, (16, 16), "i16"), out)
        tl.cycles(100)
        tl.store(b, tl.zeros((16, 16), "i16"))
        tl.wait(done)

    _, recorded = record(kernel, "i16", overrides={"parts.tiling": "weight_stationary"})
    before = filled("i16").reshape(-1)
    a, b = before[: 256 * 16].reshape(256, 16), before[SIDE * SIDE :][:256].reshape(16, 16)
    out = recorded[4 * SIDE * SIDE :][: 256 * 16].reshape(256, 16)
    assert (out == a @ b).all()
