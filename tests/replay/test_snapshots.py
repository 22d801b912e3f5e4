"""An operation reads the contents at its time, whatever is written later."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernbench import DPPolicy, bench, run

ONE = DPPolicy(num_cubes=1, num_pes=1)
CUBE = DPPolicy(pe="row_wise", num_cubes=1)
N = 1024


def check(host: Callable[..., None], *, live: bool) -> None:
    result = run(bench("snapshots", "x")(host), "tiny", verify=True, live=live)
    assert (result.verified, result.mismatches) == (True, ())


both = pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])


@both
def test_a_loaded_tensor_keeps_its_numbers_when_memory_changes(live: bool) -> None:
    def kernel(x, y, tl) -> None:
        before = tl.load(x, N)
        tl.store(x, before * 0 + 7)
        tl.store(y, before + tl.load(x, N))

    def host(torch) -> None:
        x, y = torch.ones(N, dp=ONE, name="x"), torch.empty(N, dp=ONE, name="y")
        torch.launch("kernel", kernel, x, y)
        torch.expect(y, np.full(N, 8))
        torch.expect(x, np.full(N, 7))

    check(host, live=live)


@both
def test_a_store_has_what_its_source_was_when_it_was_issued(live: bool) -> None:
    def kernel(x, y, tl) -> None:
        first = tl.load(x, N)
        tl.store(y, first)
        tl.store(x, first * 3)
        tl.store(y + 2 * N, first)

    def host(torch) -> None:
        x, y = torch.ones(N, dp=ONE, name="x"), torch.empty(2 * N, dp=ONE, name="y")
        torch.launch("kernel", kernel, x, y)
        torch.expect(y, np.ones(2 * N))

    check(host, live=live)


@both
def test_a_streamed_composite_takes_loaded_operands_as_they_were_loaded(live: bool) -> None:
    def kernel(x, w, y, tl) -> None:
        loaded = tl.load(x, (32, 32))
        tl.store(x, loaded * 0)
        tl.wait(tl.composite("gemm", loaded, tl.ref(w, (32, 32)), y))

    def host(torch) -> None:
        x, w = torch.ones((32, 32), dp=ONE, name="x"), torch.ones((32, 32), dp=ONE, name="w")
        y = torch.empty((32, 32), dp=ONE, name="y")
        torch.launch("kernel", kernel, x, w, y)
        torch.expect(y, np.full((32, 32), 32))

    check(host, live=live)


@both
def test_the_host_copies_at_its_place_in_the_stream(live: bool) -> None:
    def kernel(x, y, tl) -> None:
        tl.store(y, tl.load(x, N))

    def host(torch) -> None:
        array = np.full(N, 2, np.float16)
        x = torch.ones(N, dp=ONE, name="x")
        first, second = torch.empty(N, dp=ONE, name="first"), torch.empty(N, dp=ONE, name="second")
        torch.launch("kernel", kernel, x, first)
        x.copy_(array)
        array[:] = 99  # what the host does with its array later is its own affair
        torch.launch("kernel", kernel, x, second)
        torch.expect(first, np.ones(N))
        torch.expect(second, np.full(N, 2))

    check(host, live=live)


@both
def test_two_stores_to_one_place_at_one_femtosecond_end_with_the_later_thread(live: bool) -> None:
    def kernel(x, y, tl) -> None:
        tl.store(y, tl.full(8, float(tl.program_id() + 1)))

    def host(torch) -> None:
        x, y = torch.ones((2, 8), dp=CUBE, name="x"), torch.empty((2, 8), dp=CUBE, name="y")
        torch.launch("kernel", kernel, x, y)
        torch.expect(y, np.stack([np.full(8, 2), np.zeros(8)]))

    check(host, live=live)


@both
def test_reading_while_another_writes_depends_on_time_alone(live: bool) -> None:
    """PE 1 stores late; PE 0 loads before that and after it."""

    def kernel(x, y, tl) -> None:
        if tl.program_id() == 1:
            tl.cycles(500)
            tl.store(x, tl.full(8, 5.0))
            return
        early = tl.load(x, 8)
        tl.cycles(1000)
        tl.store(y, early + tl.load(x, 8) * 10)

    def host(torch) -> None:
        x, y = torch.ones((2, 8), dp=CUBE, name="x"), torch.empty((2, 8), dp=CUBE, name="y")
        torch.launch("kernel", kernel, x, y)
        torch.expect(y, np.stack([np.full(8, 51), np.zeros(8)]))

    check(host, live=live)


TALL = (512, 32)


@both
def test_a_composite_has_read_what_is_overwritten_while_it_runs(live: bool) -> None:
    """The first tiles are read long before the store, the last ones long after it."""

    def kernel(x, w, y, tl) -> None:
        done = tl.composite("gemm", tl.ref(x, TALL), tl.ref(w, (32, 32)), y)
        tl.cycles(150)
        tl.store(x, tl.zeros((32, 32)))
        tl.store(x + 480 * 32 * 2, tl.full((32, 32), 2.0))
        tl.wait(done)

    def host(torch) -> None:
        x, w = torch.ones(TALL, dp=ONE, name="x"), torch.ones((32, 32), dp=ONE, name="w")
        y = torch.empty(TALL, dp=ONE, name="y")
        torch.launch("kernel", kernel, x, w, y)
        torch.expect(y, np.concatenate([np.full((480, 32), 32), np.full((32, 32), 64)]))

    check(host, live=live)


@both
def test_an_output_tile_is_there_before_its_composite_has_ended(live: bool) -> None:
    def kernel(x, w, y, early, tl) -> None:
        done = tl.composite("gemm", tl.load(x, TALL), tl.load(w, (32, 32)), y)
        tl.cycles(50)
        first, last = tl.load(y, (32, 32)), tl.load(y + 480 * 32 * 2, (32, 32))
        tl.store(early, first)
        tl.store(early + 32 * 32 * 2, last)
        tl.wait(done)

    def host(torch) -> None:
        x, w = torch.ones(TALL, dp=ONE, name="x"), torch.ones((32, 32), dp=ONE, name="w")
        y, early = torch.empty(TALL, dp=ONE, name="y"), torch.empty((64, 32), dp=ONE, name="early")
        torch.launch("kernel", kernel, x, w, y, early)
        torch.expect(y, np.full(TALL, 32))
        torch.expect(early, np.concatenate([np.full((32, 32), 32), np.zeros((32, 32))]))

    check(host, live=live)


@both
def test_a_composite_streams_what_another_one_writes(live: bool) -> None:
    """The second is so far behind that each tile is there when it reads it."""

    def kernel(x, w, y, z, tl) -> None:
        first = tl.composite("gemm", tl.ref(x, TALL), tl.ref(w, (32, 32)), y)
        tl.cycles(150)
        second = tl.composite("math", tl.ref(y, TALL), out_ptr=z, math_op="abs")
        tl.wait(second)
        tl.wait(first)

    def host(torch) -> None:
        x, w = torch.ones(TALL, dp=ONE, name="x"), torch.ones((32, 32), dp=ONE, name="w")
        y, z = torch.empty(TALL, dp=ONE, name="y"), torch.empty(TALL, dp=ONE, name="z")
        torch.launch("kernel", kernel, x, w, y, z)
        torch.expect(z, np.full(TALL, 32))

    check(host, live=live)


@both
def test_a_step_over_the_whole_result_is_in_memory_with_the_last_tile(live: bool) -> None:
    def kernel(x, w, y, early, tl) -> None:
        twice = [{"op": "scale", "factor": 2, "scope": "kernel"}]
        done = tl.composite("gemm", tl.load(x, TALL), tl.load(w, (32, 32)), y, epilogue=twice)
        tl.cycles(100)
        tl.store(early, tl.load(y, (32, 32)))
        tl.wait(done)

    def host(torch) -> None:
        x, w = torch.ones(TALL, dp=ONE, name="x"), torch.ones((32, 32), dp=ONE, name="w")
        y, early = torch.empty(TALL, dp=ONE, name="y"), torch.empty((32, 32), dp=ONE, name="early")
        torch.launch("kernel", kernel, x, w, y, early)
        torch.expect(y, np.full(TALL, 64))
        torch.expect(early, np.zeros((32, 32)))

    check(host, live=live)


@both
def test_a_composite_may_write_over_its_operand(live: bool) -> None:
    def kernel(x, tl) -> None:
        tl.wait(tl.composite("math", tl.ref(x, TALL), tl.ref(x, TALL), x, math_op="add"))

    def host(torch) -> None:
        x = torch.ones(TALL, dp=ONE, name="x")
        torch.launch("kernel", kernel, x)
        torch.expect(x, np.full(TALL, 2))

    check(host, live=live)
