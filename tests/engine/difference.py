"""Compare the compiled loop with the interpreter on a program, and list the differences."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from kernbench.engine import Session
from kernbench.engine.network_waits import CAUSES
from kernbench.errors import RunError
from kernbench.program.ops import LONGEST_FS, Op
from kernbench.program.program import Program
from tests.engine.live import LiveProgram, begin_again
from tests.naive.engine import NaiveEngine

MODES = ("flit", "hybrid")


def find_difference(program: Program) -> str | None:
    """What differs first between the interpreter and the loop in both modes, or None. A live program has not run yet."""
    fresh = begin_again(program)
    fresh.flush()
    naive = NaiveEngine(fresh).run(getattr(fresh, "on_ask", None))
    for mode in MODES:
        if found := compare(begin_again(program), mode, naive):
            return found
    return None


def compare(program: Program, mode: str, naive: NaiveEngine) -> str | None:
    """What differs first between the loop in one mode and the interpreter, which has run, or None.

    The loop must refuse a run that the interpreter ends beyond the clock, and no other.
    """
    session, on_ask = Session(program, mode), None
    if isinstance(program, LiveProgram):
        on_ask = lambda thread: program.on_ask(thread, session.ask_fs or 0)  # noqa: E731
    try:
        session.run(on_ask)
    except RunError as error:
        return None if naive.now_fs >= LONGEST_FS else f"in {mode} mode the run is refused: {error}"
    except AssertionError as error:
        return f"in {mode} mode an assertion fails: {error}"
    if naive.now_fs >= LONGEST_FS:
        return f"in {mode} mode the run is not refused, which the interpreter ends at {naive.now_fs}"
    found = describe_difference(session, naive)
    return found and f"in {mode} mode {found}"


def describe_difference(session: Session, naive: NaiveEngine) -> str | None:
    """What differs first between two runs that have ended, or None."""
    columns = [
        ("row", "was issued at", session.op_issue_fs, naive.issue),
        ("row", "began at", session.op_start_fs, naive.start),
        ("row", "ended at", session.op_end_fs, naive.end),
        ("counter", "is", session.counter_value, naive.counter),
        ("station", "was busy for", session.station_busy_fs, naive.station_busy),
        ("station", "served flits:", session.station_flits, naive.station_flits),
        ("server", "was busy for", session.server_busy_fs.astype(np.int64), naive.server_busy),
        ("run", "has flit hops:", [session.flit_hops], [naive.flit_hops]),
        ("run", "ended at", [session.now_fs], [naive.now_fs]),
    ]
    if session.mode == "flit" or naive.credits is not None:
        columns.append(("run", "has events:", [session.events], [naive.events]))
    for what, verb, ours, theirs in columns:
        ours = ours if isinstance(ours, list) else ours.tolist()
        if ours != theirs:
            return _name_first(naive.op, what, verb, ours, theirs)
    return None


def describe_waits(session: Session, naive: NaiveEngine) -> str | None:
    """What differs first between what flits waited for in two runs that have ended and have counted it, or None."""
    assert naive.credits is not None
    waits, theirs = session.network_waits, naive.credits.waits
    assert waits is not None
    for cause in CAUSES:
        for link, fs in enumerate(waits.fs[cause].tolist()):
            if fs != theirs.fs[link, cause]:
                return f"{cause} of link {link} is {fs} in the loop and {theirs.fs[link, cause]} in the interpreter"
    in_routers = sum(int(waits.fs[cause].sum()) for cause in CAUSES if cause not in ("memory", "source"))
    if in_routers != theirs.stayed_fs:
        return f"the causes sum to {in_routers} and flits stayed {theirs.stayed_fs}"
    return None


def _name_first(op: list[list[int]], what: str, verb: str, ours: list[int], theirs: list[int]) -> str:
    """The earliest of the numbers that differ."""
    pairs = enumerate(zip_longest(ours, theirs))
    apart = [(min(pair), at, *pair) for at, pair in pairs if pair[0] != pair[1]]
    _, at, loop, interpreter = min(apart)
    name = f"row {at} ({Op(op[at][0]).name})" if what == "row" else f"{what} {at}"
    return f"{name} {verb} {loop} in the loop and {interpreter} in the interpreter ({len(apart)} differ)"
