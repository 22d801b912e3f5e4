"""Runs that do not end by themselves: each would hang without its limit, and each error is a sentence with the place."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from kernbench import LimitError, bench, run
from kernbench.limits import time_limit
from kernbench.limits.time_limit import REMEDY, TimeLimitReached, current_watch, limit_time
from kernbench.runs.bench import find_bench

# The limit may be reached in a callback of the garbage collector, which warns and goes on; it is then raised again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
HERE = re.escape(str(Path(__file__).name))


def spin() -> None:
    while True:
        pass


@bench("endless", "Loops for ever, in one of several places")
def endless(torch, where="kernel"):
    x = torch.zeros((8, 8))

    def kernel(p, tl):
        tl.load(p, (8, 8))
        if where == "kernel" and tl.program_id(1) == 0:
            spin()
        if where == "handled" and tl.program_id(1) == 0:
            with suppress(BaseException):
                spin()
        while where == "operations":
            tl.cycles(1)

    if where == "host":
        spin()
    torch.launch("kernel", kernel, x)
    while where == "machine":
        torch.launch("kernel", kernel, x)
        torch.synchronize()


def test_a_block_that_takes_too_long_is_ended_and_one_that_does_not_is_not() -> None:
    with limit_time(60, lambda: "nothing"):
        assert current_watch() is not None
    assert current_watch() is None
    with pytest.raises(LimitError) as caught, limit_time(0.05, lambda: "a spin"):
        spin()
    assert str(caught.value) == f"a spin: it takes longer than its time limit of 0.05 s; {REMEDY}"
    assert current_watch() is None


def test_other_threads_are_ended_too() -> None:
    found: list[str] = []

    def work() -> None:
        try:
            with limit_time(0.05, lambda: "a spin"):
                spin()
        except LimitError as error:
            found.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [f"a spin: it takes longer than its time limit of 0.05 s; {REMEDY}"]


def test_the_outer_of_two_limits_holds() -> None:
    outer, inner = limit_time(0.05, lambda: "outer"), limit_time(60, lambda: "inner")
    with pytest.raises(LimitError, match=r"^outer: .* 0\.05 s"), outer, inner:
        spin()


def test_code_that_handles_the_exception_has_exceeded_its_limit_all_the_same() -> None:
    limit, handled = limit_time(0.05, lambda: "a spin"), suppress(TimeLimitReached)
    with pytest.raises(LimitError, match=r"^a spin: it takes longer"), limit, handled:
        spin()


def test_suspended_time_does_not_count() -> None:
    with limit_time(0.05, lambda: "a wait"):
        watch = current_watch()
        assert watch is not None
        with watch.suspended():
            threading.Event().wait(0.4)


def test_time_that_is_over_as_a_block_ends_counts_and_nothing_is_raised_after_it() -> None:
    thread, held = threading.get_ident(), threading.Event()

    def watch_late() -> None:
        with time_limit._lock:  # for which the end of the block waits
            held.set()
            sleep(0.3)
            watch = time_limit._watches[thread]
            assert watch.is_due(monotonic())
            time_limit._raise_in(thread, TimeLimitReached)

    def block() -> None:
        with limit_time(0.2, lambda: "a block"):
            late.start()
            assert held.wait(10)

    late = threading.Thread(target=watch_late)
    with pytest.raises(LimitError, match=r"^a block: it takes longer than its time limit of 0\.2 s; "):
        block()
    late.join()
    assert current_watch() is None
    assert sum(range(1000)) == 499_500


def test_a_profiler_works_after_a_block() -> None:
    code = "with limit_time(60, str): pass\nProfile().runcall(lambda: (lambda: 1)())"
    imports = "from cProfile import Profile\nfrom kernbench.limits.time_limit import limit_time\n"
    subprocess.run([sys.executable, "-c", imports + code], check=True, timeout=60)


def test_memory_that_is_full_is_told_as_a_limit() -> None:
    with (
        pytest.raises(
            LimitError, match=r"^a dream: this computer's memory is full \(.+ are free\); make the run smaller$"
        ),
        limit_time(None, lambda: "a dream"),
    ):
        raise MemoryError


@pytest.mark.slow
@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("kernel", rf"kernel kernel on sip0\.cube\d\.pe\d, at .*{HERE}:\d+: it has not come to its end after 0\.3 s; "),
        ("handled", r"bench 'endless', .*: it has not come to its end after 0\.3 s; "),
    ],
)
def test_a_kernel_that_loops_for_ever_is_named_without_a_limit(
    where: str, told: str, live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(endless, "tiny", live=live, parameters={"where": "nowhere"})  # what is compiled or imported first takes longer
    monkeypatch.setattr(time_limit, "KERNEL_S", 0.3)
    monkeypatch.setattr(time_limit, "AGAIN_S", 1.5)  # each of the two PEs waits for it
    with pytest.raises(LimitError, match=told + re.escape(REMEDY)):
        run(endless, "tiny", live=live, parameters={"where": where})


@pytest.mark.slow
@pytest.mark.parametrize("where", ["host", "machine"])
def test_a_bench_that_loops_for_ever_is_named_with_its_line(where: str) -> None:
    run(endless, "tiny", parameters={"where": "nowhere"})
    place = r"bench 'endless'" if where == "host" else r"(bench 'endless'|kernel kernel on sip0\.cube\d\.pe\d)"
    with pytest.raises(LimitError, match=rf"^{place}, at .*{HERE}:\d+: it takes longer than its time limit of 1 s; "):
        run(endless, "tiny", parameters={"where": where}, time_limit="1 s")


@pytest.mark.slow
@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
def test_a_kernel_that_issues_operations_for_ever_is_named_with_its_line(live: bool) -> None:
    told = (
        rf"^kernel kernel on sip0\.cube\d\.pe\d, at .*{HERE}:\d+: the kernels of this run issue more than 5,000 operations, "
        r"the limit that was given; if none of them loops for ever, give a higher limit \(--op-limit, or op_limit in a grid\)"
    )
    with pytest.raises(LimitError, match=told):
        run(endless, "tiny", live=live, parameters={"where": "operations"}, op_limit=5000)


@pytest.mark.slow
@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
def test_the_operations_of_all_kernels_count(live: bool) -> None:
    assert find_bench(endless).name == "endless"
    with pytest.raises(
        LimitError, match=r"^kernel kernel on .*: the kernels of this run issue more than 10 operations"
    ):
        run(endless, "tiny", live=live, parameters={"where": "nowhere"}, op_limit=10)
