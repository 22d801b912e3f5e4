"""Kernels: what a call costs in Python, recorded and live. The yardstick is a SimPy process that waits."""

from __future__ import annotations

from collections.abc import Generator
from time import perf_counter

import simpy

from benches.perf.figures import Figures
from kernbench import DPPolicy, bench
from kernbench import run as run_bench
from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.program.program import Program
from kernbench.program.rows import pack_row
from kernels_jit.layout import codes

CALLS = 5000


@bench("perf-loads", "One kernel that loads repeatedly")
def loads(torch, *, n=CALLS):
    """Loads of 64 bytes on one PE, from its own memory."""
    x = torch.randn((64, 64), dp=DPPolicy(num_cubes=1, num_pes=1), name="x")
    torch.launch("loads", repeat_load, x, n)


def repeat_load(x, n, tl):
    """The kernel."""
    for _ in range(n):
        tl.load(x, 32, "f16")


def us_a_call(live: bool) -> tuple[float, float]:
    """Microseconds a load of the whole run, and outside the loop."""
    long, short = (_seconds(n, live) for n in (CALLS, 10))
    whole, loop = ((a - b) / (CALLS - 10) * 1e6 for a, b in zip(long, short, strict=True))
    return whole, whole - loop


def _seconds(n: int, live: bool) -> tuple[float, float]:
    begun = perf_counter()
    result = run_bench(loads, live=live, parameters={"n": n})
    return perf_counter() - begun, result.device.session.wall_s


BLOCKS, BLOCK_CALLS = 1000, 13


@bench("perf-blocks", "One kernel that attends to one block of keys and values after the other")
def blocks(torch, *, n=BLOCKS):
    """Loads, products, math with tensors and numbers, reductions, a store: what kernels are made of."""
    x = torch.randn((128, 64), dp=DPPolicy(num_cubes=1, num_pes=1), name="x")
    torch.launch("blocks", attend, x, n)


def attend(x, n, tl):
    """The kernel: 13 calls a block."""
    size = (16, 16)
    q, weighted, total = tl.load(x, size), tl.zeros(size), tl.zeros((16, 1))
    for i in range(n):
        k, v = tl.load(x + 512 * (i % 16), size), tl.load(x + 512 * (i % 16), size)
        scores = tl.dot(q, tl.trans(k)) * 0.125
        weights = tl.exp(scores - tl.max(scores, 1))
        total = total + tl.sum(weights, 1)
        weighted = tl.fma(weighted, 0.5, tl.dot(weights, v))
        tl.store(x, weighted)


def us_a_recorded_call() -> float:
    """Microseconds of Python for a call of a realistic kernel, from the call to its rows in the loop's memory."""
    return (_blocks(BLOCKS) - _blocks(10)) / (BLOCKS - 10) / BLOCK_CALLS * 1e6


def _blocks(n: int) -> float:
    begun = perf_counter()
    result = run_bench(blocks, parameters={"n": n}, overrides={"pe.scratch_bytes": "15 MiB"})
    return perf_counter() - begun - result.device.session.wall_s


def us_a_message() -> float:
    """Microseconds of Python for a message between two PEs: its send and its receive."""
    return (_messages(2000) - _messages(10)) / 1990 * 1e6


def _messages(n: int) -> float:
    begun = perf_counter()
    result = run_bench("pe-to-pe", parameters={"nbytes": 64, "messages": n, "keep": False})
    return perf_counter() - begun - result.device.session.wall_s


def us_an_ask() -> float:
    """Microseconds from an ask to the next: two rows written by hand, no kernel, no data."""
    machine = load_machine("sip_2x4x4")
    program = Program(machine)
    thread, counter, server = program.thread("t"), program.counter("c"), machine.places.pe(0, 0, 0).scheduler_server
    rows = pack_row(0, codes.EXEC, server, 0, counter, 0, 0, 0, 0) + pack_row(0, codes.ASK, 0, 0, 0, 0, 0, 0, 0)
    left = CALLS

    def answer(_thread: int) -> None:
        nonlocal left
        left -= 1
        if left:
            thread.extend(rows)

    thread.ask()
    begun = perf_counter()
    Session(program).run(answer)
    return (perf_counter() - begun) / CALLS * 1e6


def prefill_s(live: bool) -> float:
    """Seconds of a whole run in which 256 PEs take 836 routes, all known beforehand or not before a kernel asks."""
    begun = perf_counter()
    run_bench("attention-prefill", live=live)
    return perf_counter() - begun


def simpy_us() -> float:
    """Microseconds a timeout of one SimPy process."""

    def process(env: simpy.Environment) -> Generator[simpy.Event, None, None]:
        for _ in range(20_000):
            yield env.timeout(1)

    env = simpy.Environment()
    env.process(process(env))
    begun = perf_counter()
    env.run()
    return (perf_counter() - begun) / 20_000 * 1e6


def test_a_call(figures: Figures) -> None:
    """Recorded, live, and what of a live one is the way to the loop and back."""
    recording: list[float] = []

    def recorded() -> float:
        whole, outside = us_a_call(live=False)
        recording.append(outside)
        return whole

    us_a_call(live=True)
    simpy, quick, live, ask = figures.side_by_side(simpy_us, recorded, lambda: us_a_call(live=True)[0], us_an_ask)
    figures.show("SimPy timeout", simpy, "µs")
    figures.show("tl.load, recorded: Python only", sorted(recording)[len(recording) // 2], "µs")
    figures.show("tl.load, recorded: all in", quick, "µs")
    figures.show("tl.load, live: all in", live, "µs")
    figures.show("ask to ask: program and loop, no kernel", ask, "µs", "< 15")
    figures.show("live less recorded load: the switch, translation and data", live - quick, "µs")
    figures.ratio("SimPy timeout over recorded tl.load", simpy / quick)
    figures.ratio("SimPy timeout over live tl.load", simpy / live)
    figures.ratio("SimPy timeout over ask to ask", simpy / ask)


def test_recording(figures: Figures) -> None:
    """What recording costs for a realistic kernel, and for messages."""
    for warm in (us_a_recorded_call, us_a_message):
        warm()
    simpy, call, message = figures.side_by_side(simpy_us, us_a_recorded_call, us_a_message)
    figures.show("a call of a realistic kernel, recorded and loaded", call, "µs", "< 3")
    figures.show("a message, sent and received", message, "µs", "< 12")
    figures.ratio("SimPy timeout over a recorded call", simpy / call)
    figures.ratio("SimPy timeout over a recorded message", simpy / message)


def test_a_live_launch(figures: Figures) -> None:
    """What it costs that a launch's routes come as its kernels go, besides its numbers."""
    prefill_s(live=True)
    recorded, live = figures.side_by_side(lambda: prefill_s(live=False), lambda: prefill_s(live=True), rounds=3)
    figures.show("attention-prefill, recorded: whole run", recorded, "s")
    figures.show("attention-prefill, live: whole run", live, "s")
    figures.ratio("attention-prefill: recorded over live", recorded / live)
