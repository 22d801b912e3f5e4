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
