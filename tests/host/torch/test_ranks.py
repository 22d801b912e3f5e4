"""Ranks take turns, meet, and are released when one raises."""

from __future__ import annotations

import pytest

from kernbench.errors import DeadlockError, InputError, RunError
from kernbench.host.torch.ranks import Launcher

HERE = "tests/host/torch/test_ranks.py"


def test_every_rank_runs_once_with_its_number() -> None:
    seen: list[tuple[int, str]] = []
    Launcher().spawn(lambda rank, word: seen.append((rank, word)), ("x",), 3)
    assert seen == [(0, "x"), (1, "x"), (2, "x")]


def test_ranks_meet_and_the_last_acts_for_all() -> None:
    launcher, got = Launcher(), []

    def worker(rank: int) -> None:
        for turn in range(2):
            total = launcher.rendezvous("sum", rank, lambda brought: sum(brought.values()))
            got.append((turn, rank, total))

    launcher.spawn(worker, (), 4)
    assert sorted(got) == [(turn, rank, 6) for turn in range(2) for rank in range(4)]


def test_a_rank_knows_itself_and_the_bench_is_none() -> None:
    launcher, seen = Launcher(), []

    def worker(rank: int) -> None:
        assert launcher.current is not None
        seen.append((rank, launcher.current.index, launcher.current.device, launcher.spawned))

    assert launcher.current is None
    launcher.spawn(worker, (), 2)
    assert seen == [(0, 0, 0, 2), (1, 1, 1, 2)]
    assert (launcher.current, launcher.spawned) == (None, 0)


def test_who_looks_lets_others_go_on_first() -> None:
    launcher, order = Launcher(), []

    def worker(rank: int) -> None:
        order.append(f"{rank} issues")
        launcher.let_others_run()
        order.append(f"{rank} looks")

    launcher.spawn(worker, (), 3)
    assert order == ["0 issues", "1 issues", "2 issues", "0 looks", "1 looks", "2 looks"]


def test_a_rank_may_look_while_others_wait_for_it() -> None:
    launcher, order = Launcher(), []

    def worker(rank: int) -> None:
        if rank == 0:
            launcher.let_others_run()
            order.append("looked")
        launcher.rendezvous("barrier", None, lambda _: order.append("met"))

    launcher.spawn(worker, (), 2)
    assert order == ["looked", "met"]


def test_settling_outside_of_ranks_is_nothing() -> None:
    Launcher().let_others_run()


@pytest.mark.parametrize("later", [KeyError, SystemExit])
def test_the_first_error_is_reported_and_every_other_rank_is_released(later: type[BaseException]) -> None:
    launcher, released = Launcher(), []

    def worker(rank: int) -> None:
        try:
            if rank == 1:
                raise ValueError("bad luck")
            launcher.rendezvous("barrier", None, lambda _: None)
        finally:
            released.append(rank)
            if rank == 0:
                raise later("of no interest")

    with pytest.raises(RunError) as caught:
        launcher.spawn(worker, (), 4)
    line = worker.__code__.co_firstlineno + 3
    assert str(caught.value) == f"rank 1 of 'worker' raised ValueError: bad luck, at {HERE}:{line}"
    assert isinstance(caught.value.__cause__, ValueError)
    assert released == [1, 0]  # ranks 2 and 3 had not begun
    launcher.spawn(lambda rank: None, (), 2)  # and others may follow


def test_a_rank_on_its_way_out_meets_nobody() -> None:
    launcher, after = Launcher(), []

    def worker(rank: int) -> None:
        try:
            if rank:
                raise ValueError("boom")
            launcher.rendezvous("all_reduce", None, lambda _: None)
        finally:
            launcher.rendezvous("barrier", None, lambda _: after.append("met"))
            after.append(rank)

    with pytest.raises(RunError, match=r"^rank 1 of 'worker' raised ValueError: boom, at "):
        launcher.spawn(worker, (), 2)
    assert after == []


def test_an_error_worded_for_the_user_keeps_its_kind() -> None:
    def worker(rank: int) -> None:
        raise InputError("no such thing; give another")

    with pytest.raises(InputError) as caught:
        Launcher().spawn(worker, (), 2)
    assert str(caught.value) == "rank 0: no such thing; give another"


def test_ranks_that_come_to_different_things() -> None:
    launcher = Launcher()

    def worker(rank: int) -> None:
        launcher.rendezvous("all_reduce" if rank else "barrier", None, lambda _: None)

    with pytest.raises(InputError) as caught:
        launcher.spawn(worker, (), 2)
    line = f"{HERE}:{worker.__code__.co_firstlineno + 1}"
    assert str(caught.value) == (
        f"rank 1: it calls all_reduce, at {line}, while rank 0 waits in barrier, at {line}; "
        "let all ranks call the same collectives in the same order"
    )


def test_a_rank_that_ends_without_the_others() -> None:
    launcher = Launcher()

    def worker(rank: int) -> None:
        if rank < 2:
            launcher.rendezvous("all_reduce", None, lambda _: None)

    with pytest.raises(DeadlockError) as caught:
        launcher.spawn(worker, (), 4)
    line = f"{HERE}:{worker.__code__.co_firstlineno + 2}"
    assert str(caught.value) == (
        f"deadlock of ranks: rank 0 waits in all_reduce, at {line}; rank 1 waits in all_reduce, at {line}; "
        "ranks 2, 3 have ended without; let all ranks call the same collectives"
    )


def test_meeting_outside_of_ranks() -> None:
    with pytest.raises(InputError, match=r"^barrier was called outside of a rank; call it in a worker of torch.multi"):
        Launcher().rendezvous("barrier", None, lambda _: None)


def test_spawning_in_a_rank() -> None:
    launcher = Launcher()
    with pytest.raises(
        InputError, match=r"^rank 0: spawn was called by a rank; spawn all ranks from the bench's own f"
    ):
        launcher.spawn(lambda rank: launcher.spawn(print, (), 2), (), 2)
