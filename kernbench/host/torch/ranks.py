"""Ranks of a bench: one greenlet for each SIP, taking turns in one thread, so that a run is the same every time.

A rank runs until it must wait: at a collective, for all other ranks to come there, or to look at the simulated machine, for
all others to have issued what they issue before they wait themselves. Nothing here takes simulated time. If a rank raises,
every other is released (its `finally` blocks run) and that first error is the one the bench ends with.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import DeadlockError, InputError, KernBenchError, RunError
from kernbench.library import show_path

if TYPE_CHECKING:
    from greenlet import greenlet

_PACKAGE = str(Path(__file__).resolve().parents[2])


@dataclass(slots=True, eq=False)
class Rank:
    """One worker of a spawn."""

    index: int
    device: int  # the SIP on which it makes tensors and launches
    greenlet: greenlet = field(init=False, repr=False)
    waits: str = ""  # what it waits in, for messages; "" while it can run
    looks: bool = False  # waits for the machine, not for other ranks
    ended: bool = False


@dataclass(slots=True)
class _Rendezvous:
    """A collective that some ranks have come to."""

    what: str
    came: dict[int, Any] = field(default_factory=dict[int, Any])  # by rank: what it brought


class _RendezvousMismatchError(InputError):
    """A rank came to another collective than the ranks that wait."""


class Launcher:
    """Spawns ranks, and brings them together at a rendezvous."""

    def __init__(self) -> None:
        self._ranks: list[Rank] = []
        self._rendezvous: _Rendezvous | None = None
        self._releasing = False

    @property
    def spawned(self) -> int:
        """How many ranks run; 0 outside of `spawn`."""
        return len(self._ranks)

    @property
    def current(self) -> Rank | None:
        """The rank whose worker calls; None outside of workers."""
        if not self._ranks:
            return None
        from greenlet import getcurrent

        here = getcurrent()
        return next((rank for rank in self._ranks if rank.greenlet is here), None)

    def spawn(self, fn: Callable[..., object], args: Sequence[Any], nprocs: int) -> None:
        """Run `fn(rank, *args)` for every rank; returns when all have ended.

        Errors: those of the first rank that raised, with its number and line; DeadlockError if all that have not ended
        wait for one another.
        """
        from greenlet import greenlet

        if self._ranks:
            raise InputError("spawn was called by a rank; spawn all ranks from the bench's own function")
        self._ranks = [Rank(index, index) for index in range(nprocs)]
        for rank in self._ranks:
            rank.greenlet = greenlet(partial(fn, rank.index, *args))
        try:
            self._take_turns(fn)
        finally:
            self._release()

    def rendezvous(self, what: str, brought: Any, act: Callable[[dict[int, Any]], Any]) -> Any:
        """Wait until every rank has come here; the last of them then acts on what all brought, by rank.

        Returns what `act` returned. Errors: InputError outside of ranks, or if the ranks come to different things.
        """
        rank = self.current
        if rank is None:
            raise InputError(f"{what} was called outside of a rank; call it in a worker of torch.multiprocessing.spawn")
        if self._releasing:
            raise _exit()
        rendezvous = self._rendezvous
        if rendezvous is None:
            rendezvous = self._rendezvous = _Rendezvous(what)
        elif rendezvous.what != what:
            other = next(iter(rendezvous.came))
            raise _RendezvousMismatchError(
                f"it calls {what}, at {caller()}, while rank {other} waits in {self._ranks[other].waits}; "
                "let all ranks call the same collectives in the same order"
            )
        rendezvous.came[rank.index] = brought
        if len(rendezvous.came) < len(self._ranks):
            self._wait(rank, f"{what}, at {caller()}", looks=False)
            return rendezvous.came[-1]
        self._rendezvous = None
        rendezvous.came[-1] = result = act({index: rendezvous.came[index] for index in range(len(self._ranks))})
        for other in self._ranks:
            if not other.looks:
                other.waits = ""
        return result

    def let_others_run(self) -> None:
        """Called before the machine runs: a rank first lets all others go on until they wait themselves."""
        rank = self.current
        if rank is not None and len(self._ranks) > 1:
            self._wait(rank, "a look at the machine", looks=True)

    def _wait(self, rank: Rank, what: str, *, looks: bool) -> None:
        if self._releasing:
            raise _exit()
        rank.waits, rank.looks = what, looks
        parent = rank.greenlet.parent
        assert parent is not None
        parent.switch()

    def _take_turns(self, fn: Callable[..., object]) -> None:
        while True:
            running = [rank for rank in self._ranks if not rank.ended and not rank.waits]
            looking = [rank for rank in self._ranks if rank.looks]
            if not running and looking:
                looking[0].waits, looking[0].looks = "", False
                running = looking[:1]
            if not running:
                break
            for rank in running:
                self._resume(rank, fn)
        self._check_ended()

    def _resume(self, rank: Rank, fn: Callable[..., object]) -> None:
        try:
            rank.greenlet.switch()
        except (Exception, SystemExit) as error:  # a user's worker may raise anything
            first: BaseException = error
            if isinstance(error, _RendezvousMismatchError) and error.__context__ is not None:
                first = error.__context__  # after its own error the rank came to another collective
            if isinstance(first, KernBenchError):
                kind = InputError if isinstance(first, _RendezvousMismatchError) else type(first)
                raise kind(f"rank {rank.index}: {first}") from first
            raise RunError(
                f"rank {rank.index} of {getattr(fn, '__name__', 'the worker')!r} raised {type(first).__name__}: {first}, "
                f"at {_raising_line(first)}"
            ) from first
        rank.ended = rank.greenlet.dead

    def _check_ended(self) -> None:
        waits = [f"rank {rank.index} waits in {rank.waits}" for rank in self._ranks if not rank.ended]
        if waits:
            ended = [str(rank.index) for rank in self._ranks if rank.ended]
            raise DeadlockError(
                f"deadlock of ranks: {'; '.join(waits)}; {'ranks' if len(ended) > 1 else 'rank'} {', '.join(ended)} "
                f"{'have' if len(ended) > 1 else 'has'} ended without; let all ranks call the same collectives"
            )

    def _release(self) -> None:
        """End every rank that has not. Their `finally` blocks run but reach no rendezvous, and their errors are dropped."""
        self._releasing, self._rendezvous = True, None
        for rank in self._ranks:
            if not rank.greenlet.dead and rank.greenlet:
                with suppress(Exception, SystemExit):  # the run ends with the first error; a later one would hide it
                    rank.greenlet.throw(_exit())
        self._ranks, self._releasing = [], False


def _exit() -> BaseException:
    """The exception that ends a greenlet."""
    from greenlet import GreenletExit

    return GreenletExit()


def caller() -> str:
    """file:line of the nearest caller outside of KernBench; "KernBench itself" where that is the command line."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__", "").startswith("click."):
        return "KernBench itself"
    return "an unknown line" if frame is None else f"{show_path(frame.f_code.co_filename)}:{frame.f_lineno}"


def _raising_line(error: BaseException) -> str:
    """file:line of the innermost line outside of KernBench in a traceback."""
    found, traceback = "an unknown line", error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            found = f"{show_path(file)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
