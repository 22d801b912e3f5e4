"""Control flow that follows from what other kernels do: polls of locals, values of semaphores that pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.tanto.run import TantoResult
from tests.tanto.support import buffer, device, kernel, run

TWO = [[0, 0, 1, 0]]
POLLED = """
void kernel(global<uint32> g, local<uint32> flag, uint32 waits, uint32 delay) {
    if (waits) {
        while (flag.get(0) == 0) {}
        flag.write(0, g, 0, 2);
        write_barrier();
        return;
    }
    for (uint32 i = 0; i < delay; i++) {
        flag.read(4, g, 0, 4);
        read_barrier();
    }
    flag.set(0, 3);
    flag.set(1, 4);
    flag.write%s(0, flag, 0, 2, 2, 1%s);
    write_barrier();
}
"""
COUNTED = """
void kernel(semaphore s, local<uint32> l, uint32 waits, uint32 delay) {
    for (uint32 round = 1; round < 4; round++) {
        if (waits) {
            s.wait(round);
            for (uint32 i = 0; i < waits; i++) { l.read(0, l, 4, 4, 1, 1); read_barrier(); }
        } else {
            for (uint32 i = 0; i < delay; i++) { l.read(0, l, 4, 4, 2, 1); read_barrier(); }
            s.inc(2, 1, 1);
            write_barrier();
        }
    }
}
"""


def two(folder: Path, source: str, arguments: dict[str, list[Any]], chip: Any = None) -> TantoResult:
    return run(
        folder,
        {"k.cpp": source},
        chip or device(),
        globals=[buffer(0, 8, "uint32")],
        locals=[{"id": 1, "fmt": "uint32", "size": 8, "ranges": TWO}],
        semaphores=[{"id": 2, "init": 0, "ranges": TWO}],
        kernels=[kernel(1, "k.cpp", arguments, ranges=TWO)],
    )


@pytest.mark.parametrize("poller", [(0, 1, 1), (1, 2, 1)])
@pytest.mark.parametrize("form", [("", ""), ("_mcast", ", 2, 1, 1")])
def test_a_poll_goes_on_when_the_write_arrives(tmp_path: Path, poller: tuple[int, ...], form: tuple[str, str]) -> None:
    """In time too, on whichever core it is; how often it polls does not count."""
    place = "{}, {}".format(*poller[1:])
    source = POLLED.replace("2, 1%s", place + "%s") % (form[0], form[1].replace("2, 1", place))
    times = list[float]()
    for delay in (20, 40):
        chip, objects = device(), [{"g": 0}, {"l": 1}]
        arguments = {f"{poller[0]},0": [*objects, 1, 0], f"{1 - poller[0]},0": [*objects, 0, delay]}
        found = two(tmp_path, source, arguments, chip)
        log = found.op_log()
        sent = log.filter((log["thread"].str.ends_with(f".writer/{1 - poller[0]},0")) & (log["bytes"] == 8))[
            "start_fs"
        ][0]
        assert (
            log.filter(log["thread"].str.ends_with(f".writer/{poller[0]},0"))["start_fs"][1] > sent
        )  # its first row is the first poll
        assert found.latency_ns is not None
        times.append(found.latency_ns)
    assert times[1] > 1.5 * times[0]
    assert times[0] < 40_000


def test_a_poll_that_nobody_answers_is_a_deadlock(tmp_path: Path) -> None:
    objects, source = [{"g": 0}, {"l": 1}], POLLED.replace("flag.set(0, 3);", "") % ("", "")
    found = two(tmp_path, source, {"1,0": [*objects, 1, 0], "0,0": [*objects, 0, 2]})
    assert found.status == "deadlock"
    where = "writer kernel on core 1,0 waits for element 0 of local 1 to change, which it polls (is 0)"
    assert f"k.cpp:4:9: {where}" in found.error


def test_a_loop_that_reads_one_element_and_ends_is_no_poll(tmp_path: Path) -> None:
    source = """
    void kernel(global<uint32> g, local<uint32> l, uint32 a, uint32 b) {
        uint32 sum = 0;
        for (uint32 i = 0; i < 2500; i++) { sum += l.get(3) + 1; }
        l.set(0, sum);
        l.write(0, g, 0, 1);
        write_barrier();
    }
    """
    chip, objects = device(), [{"g": 0}, {"l": 1}, 0, 0]
    assert two(tmp_path, source, {"0,0": objects, "1,0": objects}, chip).status == "ok"
    assert chip.read(0)[0] == 2500


LOOKED_UP = """
void kernel(global<uint32> g, local<uint32> l, semaphore s, uint32 sends, uint32 waits) {
    if (sends) {
        l.set(0, 7);
        l.write(0, l, 2, 1, 2, 1);
        s.inc(2, 1, 1);
        write_barrier();
    } else {
        if (waits) { s.wait(1); }
        l.set(1, l.get(2) + 1);
        l.write(1, g, 0, 1);
        write_barrier();
    }
}
"""


@pytest.mark.parametrize("waits", [0, 1])
def test_a_read_before_the_write_of_another_core_is_a_race(tmp_path: Path, waits: int) -> None:
    chip, objects = device(), [{"g": 0}, {"l": 1}, {"s": 2}]
    found = two(tmp_path, LOOKED_UP, {"0,0": [*objects, 1, 0], "1,0": [*objects, 0, waits]}, chip)
    assert chip.read(0)[0] == 8
    assert [(race.core, race.object, race.place.rpartition("/")[2]) for race in found.races] == (
        [] if waits else [((1, 0), "local 1", "k.cpp:10:9")]
    )
    if not waits:
        assert found.races[0].write_ns is not None
        assert found.races[0].write_ns > found.races[0].read_ns


def test_a_value_that_passes_is_a_race_if_the_kernel_comes_too_late(tmp_path: Path) -> None:
    """The sender runs ahead of the receiver when kernels run in turn; times say whether it does on the chip."""
    objects = [{"s": 2}, {"l": 1}]
    in_time = two(tmp_path, COUNTED, {"0,0": [*objects, 0, 20], "1,0": [*objects, 1, 0]})
    assert (in_time.status, in_time.races) == ("ok", [])
    late = two(tmp_path, COUNTED, {"0,0": [*objects, 0, 1], "1,0": [*objects, 20, 0]})
    assert late.status == "ok"
    assert "race on core 1,0: semaphore 2, which no longer is 2," in str(late.races[0])
    assert late.races[0].write_ns is not None
    assert late.races[0].write_ns < late.races[0].read_ns


PASSED = """
void kernel(semaphore s, semaphore t, uint32 waits, uint32 waiter_busy, uint32 busy) {
    uint32 a = 1;
    if (waits) {
        for (uint32 i = 0; i < waiter_busy; i++) { a = a * 3 + 1; }
        s.wait(1);
    } else {
        for (uint32 i = 0; i < busy; i++) { a = a * 3 + 1; }
        for (uint32 i = 1; i < 3; i++) {
            t.set(i);
            %s
            write_barrier();
        }
    }
}
"""


@pytest.mark.parametrize("waiter", [0, 1])
@pytest.mark.parametrize(
    "change", ["s.inc({x}, 1, 1);", "s.set_remote(t, {x}, 1);", "s.set_mcast(t, {x}, 1, {x}, 1, 1);", ""]
)
def test_a_value_that_moves_on_before_its_waiter_comes_is_a_race(tmp_path: Path, waiter: int, change: str) -> None:
    """On whichever core it is, with and without numbers; without a change of its own, two kernels of one core share `t`."""
    source = PASSED % change.format(x=waiter + 1)
    objects = [{"s": 2}, {"s": 3 if change else 2}]
    cores = (f"{waiter},0", f"{1 - waiter if change else waiter},0")
    for late in (True, False):
        for numbers in (True, False):
            busy = (3000, 0) if late else (0, 3000)
            found = run(
                tmp_path,
                {"k.cpp": source},
                device(),
                numbers,
                semaphores=[{"id": id, "init": 0, "ranges": TWO} for id in (2, 3)],
                kernels=[
                    kernel(kind, "k.cpp", {core: [*objects, waits, *busy]}, ranges=[[int(core[0]), 0, int(core[0]), 0]])
                    for kind, core, waits in ((0, cores[0], 1), (1, cores[1], 0))
                ],
            )
            assert found.status == "ok"
            told = [(race.core, race.object, race.place.rpartition("/")[2]) for race in found.races]
            expected = [((waiter, 0), "semaphore 2, which no longer is 1,", "k.cpp:6:9")]
            assert told == (expected if late else [])


POLLED_IN_PASSING = """
void kernel(global<uint32> g, local<uint32> l, uint32 x, uint32 waits, uint32 slow) {
    uint32 a = 1;
    if (waits) {
        for (uint32 i = 0; i < slow; i++) { a = a * 3 + 1; }
        while (l.get(0) != 1) {}
        while (l.get(0) != 2) {}
        l.set(4, a);
        l.write(4, g, 0, 1);
        write_barrier();
    } else {
        for (uint32 i = 1; i < 4; i++) {
            l.set(4, i);
            l.write(4, l, 0, 1, x, 1);
            write_barrier();
        }
    }
}
"""


@pytest.mark.parametrize("poller", [0, 1])
def test_a_poll_sees_each_value_when_it_arrives(tmp_path: Path, poller: int) -> None:
    objects = [{"g": 0}, {"l": 1}, poller + 1]
    for slow in (0, 3000):
        arguments = {f"{poller},0": [*objects, 1, slow], f"{1 - poller},0": [*objects, 0, slow]}
        found = two(tmp_path, POLLED_IN_PASSING, arguments)
        assert found.status == "ok"
        assert found.latency_ns is not None
        assert found.latency_ns > (24_000 if slow else 400)
        told = [race.object for race in found.races]
        assert told == ([f"element 0 of local 1, which no longer is {n}," for n in (1, 2)] if slow else [])
