"""Launches of ranks are held until ranks meet, and what ranks have in common is launched once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.host.torch.equal_ranks import EqualRanks
from kernbench.machine import load_machine

RANKS = 3


def double(ptr: int, n: int, times: int, tl: Any) -> None:
    x = tl.load(ptr, (n,))
    for _ in range(times):
        x = x + x
    tl.store(ptr, x)


def run(worker: Callable[[RuntimeContext, int], None], *, every: bool = False) -> tuple[RuntimeContext, EqualRanks]:
    device = Device(load_machine("tiny", {"sips.count": RANKS}))
    torch = RuntimeContext(device, range(RANKS), seed=0)
    torch.distributed.init_process_group(backend="ahbm")
    equal = torch.runtime.equal = EqualRanks(torch.runtime, every=every)
    torch.multiprocessing.spawn(lambda rank: worker(torch, rank), nprocs=RANKS)
    equal.issue()
    device.run()
    return torch, equal


def count(torch: RuntimeContext) -> Counter[int]:
    return Counter(launch.message.sip for launch in torch.runtime.launches)


def work(torch: RuntimeContext, rank: int, times: int = 1) -> None:
    del rank
    x = torch.ones(64, dp=torch.DPPolicy(cube="row_wise", pe="row_wise"))
    torch.launch("double", double, x, 16, times)
    torch.distributed.all_reduce(x, over="ranks")
    torch.launch("double", double, x, 16, 1)


def test_what_ranks_have_in_common_is_launched_on_the_first() -> None:
    torch, equal = run(work)
    assert count(torch) == {0: 3, 1: 1, 2: 1}
    assert [len(launches) for launches in equal.launches.values()] == [3, 3, 3]
    assert equal.launches[1][0] is equal.launches[0][0]
    assert equal.launches[1][1] is not equal.launches[0][1]
    assert equal.met == [1, 2, 3]


def test_all_ranks_launch_if_they_are_asked_to() -> None:
    assert count(run(work, every=True)[0]) == {0: 3, 1: 3, 2: 3}


@pytest.mark.parametrize("every", [False, True])
def test_hosts_meet_so_that_all_begin_at_the_time_of_the_slowest(every: bool) -> None:
    """The second rank does more before the collective."""
    torch, equal = run(lambda torch, rank: work(torch, rank, 40 if rank == 1 else 1), every=every)
    session = torch.driven.session
    issue_fs, end_fs = session.op_issue_fs, session.op_end_fs
    collectives = [launches[1] for launches in equal.launches.values()]
    begins = {launch.left_fs(issue_fs) for launch in collectives}
    assert begins == {equal.launches[1][0].back_fs(end_fs)}
    assert {launches[2].left_fs(issue_fs) for launches in equal.launches.values()} == {
        max(launch.back_fs(end_fs) for launch in collectives)
    }
    assert count(torch) == ({0: 3, 1: 3, 2: 3} if every else {0: 3, 1: 2, 2: 1})


def test_ranks_whose_tensors_lie_elsewhere_are_different() -> None:
    def apart(torch: RuntimeContext, rank: int) -> None:
        if rank == 2:
            kept.append(torch.ones(4096))
        work(torch, rank)

    kept: list[Any] = []
    assert count(run(apart)[0]) == {0: 3, 1: 1, 2: 3}


def test_some_of_what_is_held_is_launched_alone() -> None:
    device = Device(load_machine("tiny"))
    torch = RuntimeContext(device, range(1), seed=0)
    equal = torch.runtime.equal = EqualRanks(torch.runtime)
    x = torch.ones(64)
    for name in ("a", "b", "a"):
        torch.launch(name, double, x, 16, 1)
    assert (equal.count(0), torch.runtime.launches) == (3, [])
    assert [launch.message.kernel_ref for launch in equal.issue_some(0, {"a"})] == ["a", "a"]
    assert equal.count(0) == 0


def test_a_collective_that_is_installed_is_not_waited_for() -> None:
    """An algorithm with queues of its own: the first call would bring them to the PEs."""

    def gap(*, install: bool) -> int:
        """Between a launch and the collective behind it, on the first SIP."""

        def worker(rank: int) -> None:
            del rank
            x = torch.ones(64, dp=torch.DPPolicy(cube="row_wise", pe="row_wise"))
            if install:
                torch.distributed.install("all_reduce", x)
            torch.launch("double", double, x, 16, 1)
            torch.distributed.all_reduce(x, over="ranks")

        device = Device(load_machine("tiny", {"sips.count": RANKS}))
        torch = RuntimeContext(device, range(RANKS), seed=0)
        torch.distributed.init_process_group(backend="ahbm", algorithm="rhd_allreduce")
        torch.multiprocessing.spawn(worker, nprocs=RANKS)
        device.run()
        first, second = (launch for launch in torch.runtime.launches if launch.message.sip == 0)
        return second.left_fs(device.session.op_issue_fs) - first.back_fs(device.session.op_end_fs)

    assert gap(install=True) == 0
    assert gap(install=False) > 0
