"""Kernels of several launches whose messages meet in the same queues: what is recorded is what is live."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kernbench import DPPolicy, RunResult, bench, run
from kernbench.errors import KernBenchError, KernelError
from tests.engine.fresh import draw_seeds
from tests.host.conftest import Make

ONE = DPPolicy(num_pes=1)
N = 16  # elements of a message


def both(work, **options: Any) -> RunResult:
    """Run a bench recorded and live; holds that times, numbers and op logs are the same, and returns the recorded one."""
    declared = bench("work", "Some launches")(work)
    recorded, live = (run(declared, "tiny", live=live, **options) for live in (False, True))
    assert recorded.latency_ns == live.latency_ns
    assert recorded.op_log().equals(live.op_log())
    return recorded


def group(torch) -> None:
    torch.distributed.init_process_group(backend="ahbm", n_slots=4, slot_size=2 * N)


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_a_question_and_its_answer_are_of_one_launch(launches: int) -> None:
    def ping(x, z, tl) -> None:
        for i in range(2):
            if tl.program_id(1):
                tl.send("W", tl.recv("W", N) * 2)
            else:
                tl.send("E", tl.load(x + 2 * N * i, N))
                tl.store(z + 2 * N * i, tl.recv())

    def work(torch) -> None:
        group(torch)
        x, z = torch.draw((2, N), dp=ONE), torch.zeros((4, N), dp=DPPolicy(cube="row_wise", num_pes=1))
        for _ in range(launches):
            torch.launch("ping", ping, x, z)
        torch.expect(z, lambda: [*(2 * x.initial()), [0] * N, [0] * N])

    assert both(work, verify=True).verified


@pytest.mark.parametrize("together", [True, False])
def test_a_launch_takes_the_messages_that_the_one_before_has_left(together: bool) -> None:
    def kernel(x, z, sent, taken, tl) -> None:
        if tl.program_id(1):
            for i in sent:
                tl.send("W", tl.load(x + 2 * N * i, N))
        elif taken == 0:
            tl.store(z, tl.recv())
        else:
            tl.store(z + 2 * N, tl.recv("E", N))

    def work(torch) -> None:
        group(torch)
        x, z = torch.draw((2, N), dp=ONE), torch.zeros((4, N), dp=DPPolicy(cube="row_wise", num_pes=1))
        torch.launch("first", kernel, x, z, (0, 1) if together else (0,), 0)
        torch.launch("second", kernel, x, z, () if together else (1,), 1)
        torch.expect(z, lambda: [*x.initial(), [0] * N, [0] * N])

    assert both(work, verify=True).verified


def test_a_launch_of_other_queues_waits_for_a_kernel_of_its_pe_too() -> None:
    """The kernel that is held has no queues itself."""
    ended = []

    def kernel(x, z, tl) -> None:
        if tl.program_id(1) == 0 and x:
            tl.store(z, tl.recv() + tl.recv())
            ended.append("first")
        elif x:
            for _ in range(2):
                tl.send("W", tl.load(x, N))
        else:
            ended.append(f"second on cube {tl.program_id(1)}")
            tl.store(z + 2 * N, tl.load(z, N) * 2)

    def work(torch) -> None:
        group(torch)
        x, z = torch.draw(N, dp=ONE), torch.zeros((4, N), dp=DPPolicy(cube="row_wise", num_pes=1))
        torch.launch("first", kernel, x, z)
        torch.distributed.destroy_process_group()
        torch.launch("second", kernel, 0, z)
        torch.expect(z, lambda: [2 * x.initial(), 4 * x.initial(), [0] * N, [0] * N])

    assert both(work, verify=True).verified
    for run_ended in (ended[:3], ended[3:]):
        assert run_ended.index("first") < run_ended.index("second on cube 0")


def test_a_launch_behind_a_kernel_that_ends_at_once_is_recorded_at_once() -> None:
    ran = []

    def kernel(tl) -> None:
        ran.append(tl.program_id(0))

    def work(torch) -> None:
        group(torch)
        torch.launch("one", kernel)
        torch.launch("two", kernel)
        assert len(ran) == 8

    run(bench("work", "Some launches")(work), "tiny")


@pytest.mark.parametrize("pause", [0, 7, 500])
@pytest.mark.parametrize("between", [False, True])
def test_multicasts_of_a_kernel_overlap(pause: int, between: bool) -> None:
    """The second begins while the first is under way, after a receive in a recorded kernel."""

    def spread(x, z, tl) -> None:
        cube, pe = tl.program_id(1), tl.program_id(0)
        if (cube, pe) == (0, 0):
            for i in range(3):
                tl.send(["E", "intra_S"], tl.load(x + 2 * N * i, N))
                tl.cycles(pause)
                if between and i == 0:
                    tl.recv()
        elif (cube, pe) != (1, 1):
            if between and cube:
                tl.send("W", tl.load(x, N))
            for i in range(3):
                tl.store(z + 2 * N * i, tl.recv("W" if cube else "intra_N", N))

    def work(torch) -> None:
        group(torch)
        x, z = torch.draw((3, N)), torch.zeros((3, N))
        for _ in range(2):
            torch.launch("spread", spread, x, z)

    assert both(work).op_log().filter(op_name="multicast").height == 6


@pytest.mark.parametrize("tier", ["tcm", "sram", "hbm"])
@pytest.mark.parametrize("live", [False, True])
def test_a_group_that_is_destroyed_gives_its_slots_back_and_sends_no_more(make: Make, live: bool, tier: str) -> None:
    def swap(x, tl) -> None:
        tl.send("EW"[tl.program_id(1)], tl.load(x, N))
        tl.store(x, tl.recv())

    torch = make(live)
    x = torch.zeros(N, dp=ONE)
    free = torch.reserve(tier, 64).data_ptr()
    for _ in range(2):
        torch.distributed.init_process_group(backend="ahbm", buffer_kind=tier)
        torch.launch("swap", swap, x)
        assert torch.reserve(tier, 64).data_ptr() != free
        torch.synchronize()
        torch.distributed.destroy_process_group()
        assert torch.reserve(tier, 64).data_ptr() == free
    with pytest.raises(KernelError) as error:
        launch_and_wait(torch, swap, x)
    assert "tl.send was called on sip0.cube0.pe0, which has no neighbours, at " in str(error.value)
    assert "; let the host call torch.distributed.init_process_group first" in str(error.value)


def test_checks_of_places_are_no_look_ups(make: Make) -> None:
    def copy(x, tl) -> None:
        if tl.program_id(1):
            tl.recv("W", 8, dst_addr=buffer.data_ptr(), dst_space="sram")
        else:
            tl.send("E", src_addr=x, shape=8, space="hbm")

    torch = make()
    torch.distributed.init_process_group(backend="ahbm")
    buffer = torch.reserve("sram", 16, cube=1)
    torch.launch("copy", copy, torch.zeros(8, dp=ONE))
    torch.synchronize()
    assert torch.driven.unmapped_lookups == 1


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("given", [{}, {"dir": "W"}])
def test_a_message_that_says_its_type_itself_is_copied_to_a_tensor_of_that_type(make: Make, live: bool, given) -> None:
    """Without a shape the receive has that of the message, and the copy is checked as soon as it is known."""

    def copy(x, y, dtype, tl) -> None:
        if tl.program_id(1):
            tl.recv(**given, dst_addr=y, dst_space="hbm")
        else:
            tl.send("E", tl.zeros(8, dtype))

    torch = make(live)
    torch.distributed.init_process_group(backend="ahbm")
    x, y = (torch.full(16, 5, "f16", torch.DPPolicy(cube="row_wise", num_pes=1), name=name) for name in "xy")
    launch_and_wait(torch, copy, x, y.data_ptr(), "f16")
    torch.launch("copy", copy, x, y, "f16")
    assert y.numpy()[:8].tolist() == [0] * 8
    with pytest.raises(KernelError) as error:
        launch_and_wait(torch, copy, x, y, "f32")
    assert "tensor 'y' has elements of f16, and the access is of f32" in str(error.value)


def launch_and_wait(torch, kernel, *args) -> None:
    torch.launch("k", kernel, *args)
    torch.synchronize()


def fails_at(x, z, which, tl) -> None:
    """Each PE stores; some raise before it, some while it waits, one at an address."""
    me = 2 * tl.program_id(1) + tl.program_id(0)
    tl.cycles(10 * (4 - me))
    if which == "all":
        raise ValueError(f"PE {me}")
    if which == "a wait" and me == 1:
        tl.recv(shape=N)
        raise ValueError
    if which == "a wait" and me == 0:
        tl.send("intra_S", tl.load(x, N))
    if which == "an address" and me in (0, 3):
        tl.store(1 << 60, tl.load(x, N) + 1)
    if which == "one" and me == 0:
        raise ValueError
    tl.cycles(10_000)
    tl.store(z, tl.load(x, N))


@pytest.mark.parametrize("which", ["one", "all", "a wait", "an address"])
def test_a_launch_that_fails_leaves_the_same_recorded_and_live(which: str) -> None:
    """Memory, op log, the latency, and who is told."""
    told = []

    def work(torch) -> None:
        group(torch)
        x, z = torch.draw(N, name="x", seed=1), torch.zeros(N, name="z")
        try:
            torch.launch("fails", fails_at, x, z, which)
            torch.synchronize()
        except KernelError as error:
            told.append(str(error).partition("; launched at ")[0])
        torch.launch("goes on", act, x, z, {pe: [] for pe in SIDES})
        told.append(shard_bytes(torch, z))

    both(work)
    assert told[:2] == told[2:]
    pes = {"one": [0], "all": [0, 1, 2, 3], "a wait": [1], "an address": [0, 3]}[which]
    assert f"on sip0.cube{pes[0] // 2}.pe{pes[0] % 2}" in told[0]
    assert [not any(copy) for copy in told[1]] == [pe in pes for pe in range(4)]


# Random launches

SIDES = {  # of each (cube, PE)
    (0, 0): {"E": (1, 0), "intra_S": (0, 1)},
    (1, 0): {"W": (0, 0), "intra_S": (1, 1)},
    (0, 1): {"E": (1, 1), "intra_N": (0, 0)},
    (1, 1): {"W": (0, 1), "intra_N": (1, 0)},
}
BACK = {"E": "W", "W": "E", "intra_N": "intra_S", "intra_S": "intra_N"}
RECEIVES = ["recv", "shapeless", "recv_no_consume", "copy", "recv_async", "shapeless_async"]
SHAPELESS = ["shapeless", "shapeless_async"]
MOST = 64  # elements of a message


def draw_launches(rng: Random) -> list[dict[tuple[int, int], list[tuple[Any, ...]]]]:
    """What each PE does in each launch: ("send", directions, number, elements, cycles) or (how, direction, elements).

    All PEs follow one order of messages, so what is received by its direction ends. Some messages are received by the next
    launch. Receives from any source take what comes; if messages differ in size, no receive gives one.
    """
    alike = rng.random() < 0.5
    anywhere = rng.choice([0.0, 0.3, 0.8])  # how likely a PE receives from any source in a launch
    left: list[tuple[tuple[int, int], str, int]] = []
    launches, number = [], 0
    for last in [False] * rng.randint(1, 2) + [True]:
        todo: dict[tuple[int, int], list[tuple[Any, ...]]] = {pe: [] for pe in SIDES}
        anyone = {pe: rng.random() < anywhere for pe in SIDES}

        def receive(pe: tuple[int, int], way: str, elements: int, todo=todo, anyone=anyone) -> None:
            how = rng.choice(RECEIVES if alike else SHAPELESS)
            todo[pe].append((how, None if anyone[pe] and "async" not in how else way, elements))

        for pe, way, elements in left:
            receive(pe, way, elements)
        left = []
        for _ in range(rng.randint(1, 6)):
            source = rng.choice([*SIDES])
            ways = rng.sample([*SIDES[source]], rng.choice([1, 1, 2]))
            elements = MOST if alike else rng.randint(1, MOST)
            todo[source].append(("send", ways, number, elements, rng.choice([0, 0, 1, 30])))
            number += 1
            for way in ways:
                end = SIDES[source][way], BACK[way], elements
                if last or rng.random() < 0.8:
                    receive(*end)
                else:
                    left.append(end)
        launches.append(todo)
    return launches


def act(x, z, todo, tl) -> None:
    """What `draw_launches` says of this PE; each message that it receives is kept in its part of z."""
    mine, waiting = z, []
    for how, *what in todo[tl.program_id(1), tl.program_id(0)]:
        if how == "send":
            ways, number, elements, cycles = what
            tl.cycles(cycles)
            tl.send(ways if len(ways) > 1 else ways[0], tl.load(x + 2 * MOST * number, elements))
            continue
        way, elements = what
        if how.endswith("async"):
            waiting.append(tl.recv_async(way, () if how == "shapeless_async" else elements))
            continue
        if how == "shapeless":
            found = tl.recv(way)
        elif how == "copy":
            found = tl.recv(way, elements, dst_addr=mine + 4096, dst_space="hbm") + 0
        else:
            found = getattr(tl, how)(way, elements)
        tl.store(mine, found)
        mine += 2 * MOST
    for future in waiting:
        tl.store(mine, tl.wait(future))
        mine += 2 * MOST


def outcome(seed: int, *, live: bool) -> tuple[Any, ...]:
    """Times, op log and numbers of drawn launches, or the sentence of their error."""
    numbers: list[Any] = []

    def work(torch) -> None:
        rng = Random(seed)
        torch.distributed.init_process_group(backend="ahbm", n_slots=rng.choice([1, 2, 4]), slot_size=2 * MOST)
        x = torch.draw((20, MOST), seed=1)
        z = [torch.zeros(4096, name=f"z{i}") for i in range(3)]
        for i, todo in enumerate(draw_launches(rng)):
            torch.launch(f"launch{i}", act, x, z[i], todo)
            if rng.random() < 0.2:
                torch.synchronize()
        numbers.extend(shard_bytes(torch, one) for one in z)

    try:
        result = run(bench("work", "Some launches")(work), "tiny", live=live)
    except KernBenchError as error:
        return (str(error),)
    return result.latency_ns, result.pe_exec_ns, result.op_log().write_json(), numbers


def shard_bytes(torch, tensor) -> list[bytes]:
    """What each PE's copy of a tensor holds."""
    return [torch.driven.look(tensor.layout, copy).tobytes() for copy in range(4)]


def test_random_launches_are_the_same_recorded_and_live() -> None:
    for seed in draw_seeds(0.05):
        recorded, live = (outcome(seed, live=live) for live in (False, True))
        assert recorded == live, f"launches of seed {seed} differ"
