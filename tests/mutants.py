"""Small mistakes put into the loops on purpose, one at a time: does a random program notice each?

    python -m tests.mutants --most 30                              # any thirty of them; the seed is printed
    python -m tests.mutants --module flits.reservations --module flits.station # all of these modules

A mutant is a module of `kernels_jit` with one thing changed: a comparison, a sign, a bound, a statement left out.
Each runs in a process of its own, as plain Python that checks what the loops assert, and does the programs of `PROGRAMS` that
come to the line changed. It is dead if a time differs from the interpreter's, an assertion or an invariant fails, or time is
over. One that gives the same times with other counts of what was speculated, or another pool, is told apart: it is slower or
quicker, not wrong. Nothing is written into the tree. The exit code is 1 if a mutant lives that is not in `mutants.yaml`, which
says why others are no mistakes, or if that names one that is none any longer.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import importlib
import importlib.machinery
import inspect
import os
import pickle
import resource
import select
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic
from typing import Any, NamedTuple

os.environ["NUMBA_DISABLE_JIT"] = os.environ["KERNBENCH_CHECKED"] = "1"

import numpy as np
import yaml

from kernbench.program.program import Program
from kernels_jit.compile import pointers
from kernels_jit.layout import records
from tests.engine.random_programs import draw_program
from tests.naive.engine import NaiveEngine

HERE = Path(__file__).parents[1] / "kernels_jit"
EQUIVALENT = Path(__file__).with_suffix(".yaml")  # by module and function: changes, and why they are no mistakes
MODULES = (
    "flits.closed_form",
    "credits.copies",
    "credits.hop_codes",
    "credits.input_vcs",
    "credits.link",
    "credits.loop",
    "credits.memory",
    "credits.network",
    "credits.queue",
    "credits.router",
    "credits.schedule",
    "credits.source",
    "credits.stages",
    "credits.switch_requests",
    "credits.vc_allocation",
    "credits.vc_states",
    "credits.waits",
    "loop.event_heap",
    "loop.events",
    "flits.hops",
    "flits.injection",
    "servers.jobs",
    "loop.loop",
    "flits.multicast",
    "loop.network_pass",
    "flits.packet_link",
    "flits.port_queues",
    "flits.reservations",
    "servers.chains",
    "servers.queues",
    "servers.service",
    "flits.station",
    "loop.threads",
    "flits.transfer_batches",
    "flits.transfers",
)
COUNTS = (records.STATE.names or ())[(records.STATE.names or ()).index("passes") :]  # of what was speculated
MEMORY = 3 << 30  # bytes that a mutant may have: some never stop to enlarge a pool


class Subject(NamedTuple):
    """A program that mutants do, and how.

    "plain", with "tiny" pools, in "short" passes, "stepped" event by event, "counted": what flits waited for as well, in
    hybrid mode alone.
    """

    kind: str
    setting: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} {self.seed} {self.setting}"


SEEDS = {
    "crowded plain": "7 8 9 13 17 27 28 32 38 41 44 49 52 59 68 71 78 81 85 86 91 93 97 99 101 105 106 110 111 115 117",
    "mesh plain": "2 4 6 26 29 31 35 38",
    "overtaking plain": "7 15",
    "partial plain": "14 19 21 26 30 31 34 35 44 48 51 54 56 57 59 64 67 84 85 87 89 94 96 98",
    "pipelines plain": "1 2 3 4 7 8 9 11 12 13 14 17 18 22 29 30 33 34 36 37 39 41 42 43 45 47 48 55 59",
    "streams plain": "1 2 3 5 6 8 219 2365",
    "weaves plain": "1 2 3 4 5 6 7 8 25 30 50",
    "medleys plain": "205 281 288 295",
    "lanes plain": "1 2 3 4 5 6 7 8 47",
    "wide plain": "0 1 4 6 9 17",
    "credit plain": "0 1 3 4 5 6 9 10 12 13 16 17 20 21 22 24 27 30 31 32 34 35 36 37 39 44 46 48 49 51 54 56 57",
    "packet_mesh plain": "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19",
    "packets plain": "0 1 2 3 4 5 6 7",
    "multicasts plain": "0 1 2 3 4 5 6 7 8 9 10 11",
    "multicast_mesh plain": "0 1 2 3 4 5",
    "credit_multicasts plain": "5 6 9 12 14 16 20 30 39 48 49 50 51 54 55 56",
    "credit_sip_multicasts plain": "11",
    "credit_multicasts stepped": "5 9 30 49",
    "packet_mesh short": "20 21 22 23 24 25 26 27 28 29",
    "crowded tiny": "201 206 207 210 213 217 219",
    "mesh tiny": "200 201 208 209 211 215",
    "partial tiny": "206 207 210 216 217",
    "pipelines tiny": "203 204 205 206 207 208 209 211 214",
    "streams tiny": "201 202 203 205",
    "lanes tiny": "100 101 102 103 104 105 106 107",
    "lanes short": "200 201 202 203 204 205 206 207",
    "mesh short": "300 301 302 303 304 306 309",
    "partial short": "300 303",
    "weaves stepped": "100 101 102 103 104 106",
    "medleys stepped": "281 288",
    "overtaking stepped": "0 1 2 3 4",
    "crowded stepped": "7 9 27 85 101 106",
    "partial stepped": "31 54 96",
    "pipelines stepped": "1 8 17 22 55",
    "streams stepped": "1 5 219",
    "credit stepped": "3 9 16 27 44",
    "credit counted": "1 3 9 16 27 40 44",
    "credit_multicasts counted": "5 9 30 49",
    "credit_copies counted": "0 1 2 3 4 5 6 9 14 18 19",
    "credit_crowded counted": "0 1 2 3 4 5",
    "credit_age counted": "1 3 4 7 9",
    "credit_limited counted": "8 9 13 15 17 18 27 32",
    "credit_wide counted": "24 32 46",
    "credit_sip counted": "3 7 15 16 20 26 32 41 48 51",
    "credit_sip_multicasts counted": "1 4 8 24",
    "credit_ends counted": "24 50 73",
    "credit_tensix counted": "2 25",
}
PROGRAMS = tuple(Subject(*key.split(), int(seed)) for key, seeds in SEEDS.items() for seed in seeds.split())

CHAINED = ("flits.transfer_batches", "servers.chains", "servers.queues", "flits.reservations")
ORDERED, QUEUED = (
    ("loop.event_heap", "loop.loop", *CHAINED),
    ("flits.port_queues", "loop.network_pass", "flits.station"),
)
ORDER = "test_who_comes_to_a_chain_at_the_instant_at_which_a_token_does_goes_by_the_order_of_events"
FORMED = ("flits.closed_form", "flits.station")
GROWN = ("loop.threads", "loop.loop", "loop.event_heap", "flits.hops", "loop.network_pass")
PACKETS = ("credits.link", "credits.network", "credits.queue", "credits.schedule")
KNOWN = "test_packets_to_near_nodes_are_known_to_have_arrived_before_those_sent_sooner_to_far_ones"
TESTS = (
    (PACKETS, "test_credit_network", KNOWN, (3,)),
    (PACKETS, "test_credit_network", "test_packets_that_stand_still_are_named", ()),
    (PACKETS, "test_credit_network", "test_a_run_that_begins_late_is_not_taken_for_one_that_stands_still", ()),
    (CHAINED, "test_speculation", "test_after_each_event_of_a_batch_that_is_split_all_is_as_it_should_be", ()),
    (CHAINED, "test_speculation", "test_a_batch_ends_when_jobs_run_out", ()),
    (CHAINED, "test_speculation", "test_a_batch_is_split_where_it_began_and_not_in_rows_of_another", ()),
    (CHAINED, "test_speculation", "test_a_batch_is_split_where_it_began_though_the_row_before_ends_then", ()),
    (CHAINED, "test_speculation", "test_tokens_that_are_taken_back_queue_again", ()),
    (CHAINED, "test_speculation", "test_reads_of_a_batch_may_begin_at_different_stripes", ()),
    (CHAINED, "test_speculation", "test_tokens_of_a_server_with_more_slots_are_not_batched", ()),
    (CHAINED, "test_speculation", "test_a_batch_of_many_tokens_is_split_wherever_another_comes", (1, 64)),
    (CHAINED, "test_speculation", "test_tokens_that_wait_in_a_chain_stay_there_when_a_batch_is_split", ()),
    (CHAINED, "test_speculation", "test_the_chain_of_a_plan_ends_with_its_token", ([(0, 1)],)),
    (CHAINED, "test_speculation", "test_the_chain_of_a_plan_ends_with_its_token", ([(0, 1, 2), (0, 1)],)),
    (CHAINED, "test_speculation", "test_a_chain_is_not_longer_than_one_event_may_bring", ()),
    (FORMED, "test_speculation", "test_a_transfer_that_meets_nobody_is_done_in_closed_form", ((10, 20, 24), 100)),
    (FORMED, "test_speculation", "test_a_transfer_that_meets_nobody_is_done_in_closed_form", ((10, 10, 40), 35)),
    (ORDERED, "test_speculation", ORDER, (("plan", "other"),)),
    (ORDERED, "test_speculation", ORDER, (("other", "plan"),)),
    (QUEUED, "test_speculation", "test_a_bound_knows_nothing_of_the_transfer_that_was_in_this_row_before", ()),
    (QUEUED, "test_speculation", "test_a_flit_goes_before_a_queue_of_blocks_that_a_gate_holds_back", (32,)),
    (QUEUED, "test_speculation", "test_a_flit_goes_before_a_queue_of_blocks_that_a_gate_holds_back", (45,)),
    (FORMED, "test_speculation", "test_a_turn_may_take_the_shortest_time", ("flit",)),
    (CHAINED, "test_speculation", "test_tokens_that_read_on_no_server_are_not_batched", ()),
    (CHAINED, "test_speculation", "test_tokens_that_only_read_are_not_batched", ()),
    (CHAINED, "test_speculation", "test_reads_that_differ_are_not_one_batch", (1, 256, 0)),
    (CHAINED, "test_speculation", "test_reads_that_differ_are_not_one_batch", (0, 512, 0)),
    (CHAINED, "test_speculation", "test_reads_that_differ_are_not_one_batch", (0, 256, 3)),
    (CHAINED, "test_speculation", "test_a_stage_is_no_read_whatever_its_numbers", ()),
    (CHAINED, "test_speculation", "test_a_batch_ends_with_its_plan", ()),
    (CHAINED, "test_speculation", "test_of_two_batches_of_a_plan_one_is_split", ()),
    (
        ("servers.service", *CHAINED),
        "test_speculation",
        "test_tokens_enter_a_chain_in_the_order_in_which_they_ask",
        (1,),
    ),
    (
        ("servers.service", *CHAINED),
        "test_speculation",
        "test_tokens_enter_a_chain_in_the_order_in_which_they_ask",
        (2,),
    ),
    (CHAINED, "test_speculation", "test_a_token_that_has_come_to_a_chain_in_this_event_is_not_taken_back", ()),
    (CHAINED, "test_speculation", "test_a_token_that_stays_on_the_last_server_of_a_chain_is_not_overtaken", (1,)),
    (CHAINED, "test_speculation", "test_a_token_that_stays_on_the_last_server_of_a_chain_is_not_overtaken", (9,)),
    (CHAINED, "test_speculation", "test_a_stage_that_takes_no_time_is_in_no_chain", ()),
    (
        ("flits.reservations",),
        "test_speculation",
        "test_a_transfer_whose_acknowledgement_is_on_its_way_is_not_reopened",
        (),
    ),
    (("flits.reservations",), "test_speculation", "test_a_memory_with_the_shortest_turn_is_not_reserved", ()),
    (("flits.reservations",), "test_speculation", "test_a_channel_may_be_busy_with_what_has_landed_already", ()),
    (QUEUED, "test_speculation", "test_the_last_flit_may_be_there_before_others", ()),
    (QUEUED, "test_speculation", "test_flits_behind_the_last_of_a_channel_are_served_at_others", ()),
    (("loop.event_heap",), "test_speculation", "test_a_bound_is_not_compared_with_what_stands_before_the_bounds", ()),
    (GROWN, "test_speculation", "test_the_heap_has_room_for_all_threads_that_wake_at_once", ()),
    (GROWN, "test_speculation", "test_the_heap_has_room_for_all_transfers_that_land_at_once", ("flit",)),
    (GROWN, "test_session", "test_routes_that_many_threads_bring_at_once_are_laid_together", ("flit", 0)),
    (GROWN, "test_session", "test_a_thread_that_asks_gets_more_rows_and_new_routes_join_what_is_in_flight", ("flit",)),
)
"""What mutants of some modules do besides: programs made by hand for what is rare at random. Tests, with arguments."""

# Which mutants there are


class Mutant(NamedTuple):
    """A change of one node of a module's syntax tree: the `number`th of all that are possible."""

    module: str
    function: str
    number: int
    lines: tuple[int, int]  # of the statement, of the node
    before: str
    after: str

    @property
    def change(self) -> tuple[str, str, str]:
        """As in `EQUIVALENT`."""
        return self.module, self.function, f"{self.before} -> {self.after}"

    def __str__(self) -> str:
        return (
            f"{_file(self.module).relative_to(HERE)}:{self.lines[1]} ({self.function}): {self.before}  ->  {self.after}"
        )


FLIPPED: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
FLIPPED |= {ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And}
SWAPPED = {"max": "min", "min": "max"}


def list_changes(node: ast.AST, twice: set[str]) -> Iterator[ast.AST]:
    """What may stand in place of a node; `twice` are the names of its function that are assigned elsewhere as well."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in FLIPPED:
            yield ast.Compare(node.left, [FLIPPED[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in FLIPPED:
            yield ast.BinOp(node.left, FLIPPED[type(op)](), node.right)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(FLIPPED[type(op)](), node.values)
            for k in range(len(node.values)):
                kept = node.values[:k] + node.values[k + 1 :]
                yield ast.BoolOp(op, kept) if len(kept) > 1 else kept[0]
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield ast.Call(ast.Name(SWAPPED[name], ast.Load()), node.args, [])
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant({0: 1, 1: 0}.get(value, value + 1))
        case ast.IfExp():
            yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.If(test=ast.Compare(ops=[ast.Eq() | ast.NotEq()])):
            return  # is flipped as a comparison
        case ast.If():
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Break() | ast.Continue() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)):
            for k, target in enumerate(left):
                if _may_go(target, twice):
                    kept = [
                        ast.Tuple([*elements[:k], *elements[k + 1 :]], ctx)
                        for elements, ctx in ((left, ast.Store()), (right, ast.Load()))
                    ]
                    yield ast.Assign([kept[0]], kept[1])
        case ast.Assign(targets=[target]) if _may_go(target, twice):
            yield ast.Pass()
        case ast.AugAssign(op=op):
            yield ast.Pass()
            if type(op) in FLIPPED:
                yield ast.AugAssign(node.target, FLIPPED[type(op)](), node.value)


def load_equivalent() -> set[tuple[str, str, str]]:
    """Each change of a function of a module that is no mistake."""
    return {
        (module, function, " ".join(change.split()))
        for module, functions in yaml.safe_load(EQUIVALENT.read_text()).items()
        for function, entries in functions.items()
        for entry in entries
        for change in entry["changes"]
    }


def _may_go(target: ast.expr, twice: set[str]) -> bool:
    """Whether a function has all its names without an assignment."""
    return all(not isinstance(n, ast.Name) or isinstance(n.ctx, ast.Load) or n.id in twice for n in ast.walk(target))


def _file(module: str) -> Path:
    """The file of a module, such as `flits.station`."""
    return HERE.joinpath(*module.split(".")).with_suffix(".py")


def list_mutants(module: str) -> Iterator[tuple[Mutant, ast.Module]]:
    """All mutants of a module, each with its syntax tree, which is good until the next is asked for."""
    tree = ast.parse(_file(module).read_text())
    number = 0
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name.startswith(("check_", "prefetch", "fetch_")):
            continue
        names = Counter(n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        names.update(argument.arg for argument in function.args.args)
        twice = {name for name, count in names.items() if count > 1}
        for statement, holder, field, at in _list_nodes(function):
            node = getattr(holder, field) if at is None else getattr(holder, field)[at]
            for change in list_changes(node, twice):
                before = _head(statement)
                _put(holder, field, at, change)
                after = _head(change if node is statement else statement)
                lines = statement.lineno, getattr(node, "lineno", statement.lineno)
                yield Mutant(module, function.name, number, lines, before, after), tree
                _put(holder, field, at, node)
                number += 1


def _list_nodes(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, ast.AST, str, int | None]]:
    """Every node of a function's body that does something: its statement, and where it hangs."""

    def walk(holder: ast.AST, statement: ast.stmt) -> Iterator[tuple[ast.stmt, ast.AST, str, int | None]]:
        for field, value in ast.iter_fields(holder):
            for at, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(node, ast.AST) or _is_idle(node) or _is_same(holder, field):
                    continue
                own = node if isinstance(node, ast.stmt) else statement
                yield own, holder, field, at
                yield from walk(node, own)

    for at, statement in enumerate(function.body):
        if not _is_idle(statement):
            yield statement, function, "body", at
            yield from walk(statement, statement)


def _is_idle(node: ast.AST) -> bool:
    """Whether a node changes nothing: documentation, hints, counts, what is done in checked runs alone."""
    match node:
        case ast.If(test=ast.Name(id="CHECKED")) | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name.startswith(("prefetch", "fetch_"))
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id="state"), attr=name)):
            return name in COUNTS
    return False


def _is_same(holder: ast.AST, field: str) -> bool:
    """Whether a change here is none, or one that there is anyway: the 0 of `state_at(m, 0)`, the 1 of `+= 1`."""
    match holder:
        case ast.Call(func=ast.Name(id="state_at")):
            return field == "args"
        case ast.AugAssign(value=ast.Constant(value=1)):
            return field == "value"
    return False


def _put(holder: ast.AST, field: str, at: int | None, node: ast.AST) -> None:
    if at is None:
        setattr(holder, field, node)
    else:
        getattr(holder, field)[at] = node


def _head(node: ast.AST) -> str:
    """A statement without what is inside it."""
    return (
        "nothing"
        if isinstance(node, ast.Pass)
        else " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split("\n")[0].split())
    )


# What a mutant does


def quick_record(kind: np.dtype, stride: int, base: int | None) -> Callable[[Any, Any], Any]:
    """Records for plain Python, several times as quick as views of numpy."""

    class Row:
        __slots__ = ("at_", "m_")

        def __init__(self, words: np.ndarray, number: int) -> None:
            self.m_, self.at_ = words, int(number) * stride + (0 if base is None else words.item(base))

    def word(at: int) -> property:
        def put(row: Row, value: int) -> None:
            row.m_[row.at_ + at] = value

        return property(lambda row: row.m_.item(row.at_ + at), put)

    def part(part: np.dtype, at: int) -> property:
        each = records.WORD // part.itemsize

        def put(row: Row, value: int) -> None:
            row.m_.view(part)[row.at_ * each + at] = value

        return property(lambda row: row.m_.view(part).item(row.at_ * each + at), put)

    for name, (dtype, offset) in (kind.fields or {}).items():
        at = offset // dtype.itemsize
        setattr(Row, name, word(at) if dtype.itemsize == records.WORD else part(dtype, at))
    return Row


class Judge:
    """The programs and what they come to; runs in the process of each mutant what that may change."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self.programs: dict[tuple[str, int], tuple[Program, NaiveEngine]] = {}
        for kind, _, seed in subjects:
            program = draw_program(kind, seed)
            program.flush()
            self.programs[kind, seed] = program, NaiveEngine(program).run()

    def find_fault(self, subject: Subject) -> tuple[str | None, list]:
        """What is wrong with a run of a program, or None; and what was speculated in each mode."""
        from kernbench.engine import Session, memory
        from kernbench.engine import session as sessions
        from tests.engine.difference import describe_difference, describe_waits
        from tests.engine.invariants import find_broken

        tiny, short = subject.setting == "tiny", subject.setting == "short"
        memory._JOBS, memory._TRANSFERS, memory._EVENTS = (1, 1, 1) if tiny else (256, 64, 1024)
        memory._PASS_FLITS, memory._SLACK_FLITS = (1, 0) if short else (1024, 1 << 16)
        sessions.empty_pool = (lambda _: np.empty((32, 2), np.int64)) if tiny else memory.empty_pool
        program, naive = self.programs[subject.kind, subject.seed]
        counted, counts = subject.setting == "counted", []
        for mode in ("hybrid",) if counted else ("hybrid", "flit"):
            session = Session(program, mode, count_waits=counted)
            if subject.setting == "stepped":
                while session.step():
                    if fault := find_broken(session):
                        return f"{subject}, {mode}: {fault}", counts
            session.run()
            fault = describe_difference(session, naive) or find_broken(session)
            if fault := fault or (describe_waits(session, naive) if counted else None):
                return f"{subject}, {mode}: {fault}", counts
            counts.append((*session.speculation, session.events, len(session._pool)))
        return None, counts


def prepare() -> None:
    """Make ready a process that imports the loops afterwards."""
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pointers._accessor = quick_record
    pointers.place_of = lambda _pointer, row: row.at_
    loops = ("kernels_jit.loop", "kernels_jit.flits", "kernels_jit.servers", "kernels_jit.credits")
    for name in [name for name in sys.modules if name.startswith((*loops, "kernels_jit.layout.access"))]:
        del sys.modules[name]  # recording a program needs some of them


def put_in(module: str, tree: ast.Module) -> None:
    """Let a module be made from a syntax tree when it is imported."""
    name, path = f"kernels_jit.{module}", str(_file(module))
    get_code = importlib.machinery.SourceFileLoader.get_code

    def get_other(self: Any, fullname: str) -> Any:
        if fullname == name:
            return compile(ast.fix_missing_locations(tree), path, "exec")
        return get_code(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_other  # type: ignore[method-assign]


class Course(NamedTuple):
    """What a program does without a mutant."""

    lines: set[tuple[str, int]]  # (module, line) it comes to
    counts: list  # what was speculated in each mode
    seconds: float


def watch(judge: Judge, subjects: Sequence[Subject]) -> dict[Subject, Course]:
    """Run the programs as they are. Errors: AssertionError if one differs, or an invariant does not hold."""
    prepare()
    courses = {}
    for subject in subjects:
        seen: set[tuple[str, int]] = set()
        locals_of: dict[Any, Any] = {}

        def trace(frame: Any, _event: str, _argument: Any, seen: set = seen, locals_of: dict = locals_of) -> Any:
            code = frame.f_code
            if code not in locals_of:
                path = Path(code.co_filename)

                def note(frame: Any, _event: str, _argument: Any, name: str = f"{path.parent.name}.{path.stem}") -> Any:
                    seen.add((name, frame.f_lineno))
                    return note

                locals_of[code] = note if path.parent.parent == HERE else None
            return locals_of[code]

        begun = monotonic()
        sys.settrace(trace)
        fault, counts = judge.find_fault(subject)
        sys.settrace(None)
        assert fault is None, fault
        courses[subject] = Course(seen, counts, monotonic() - begun)
    return courses


def do_mutant(judge: Judge, mutant: Mutant, subjects: Sequence[Subject], courses: dict[Subject, Course]) -> Verdict:
    """What becomes of a mutant; in a process of its own."""
    prepare()
    put_in(mutant.module, next(tree for other, tree in list_mutants(mutant.module) if other == mutant))
    work = None
    signal.signal(signal.SIGVTALRM, _give_up)
    for subject in subjects:
        signal.setitimer(signal.ITIMER_VIRTUAL, 2 + 10 * courses[subject].seconds)
        try:
            fault, counts = judge.find_fault(subject)
        except Exception as error:
            fault, counts = f"{subject}: {type(error).__name__}: {error}", []
        if fault:
            return Verdict("dead", fault, subject)
        if counts != courses[subject].counts:
            work = work or subject
    for modules, place, name, arguments in TESTS:
        if mutant.module in modules and (fault := find_failure(place, name, arguments)):
            return Verdict("dead", fault, None)
    return Verdict("work", "", work) if work else Verdict("alive", "", None)


def find_failure(place: str, name: str, arguments: tuple) -> str | None:
    """How a test of a module of `tests/engine` fails, or None."""
    import pytest

    test = getattr(importlib.import_module(f"tests.engine.{place}"), name)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    with pytest.MonkeyPatch.context() as patch:
        more = {"monkeypatch": patch} if "monkeypatch" in inspect.signature(test).parameters else {}
        try:
            test(*arguments, **more)
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"
    return None


def _give_up(*_arguments: object) -> None:
    raise TimeoutError("it comes to no end")


class Verdict(NamedTuple):
    """Of a mutant: "dead" and by what; "work": the times are the same, what was speculated is not; "alive"."""

    fate: str
    why: str
    subject: Subject | None


def start(work: Callable[[], Any], seconds: int) -> int:
    """Do something in a process of its own, which ends after some seconds. Returns where its answer can be read."""
    reads, writes = os.pipe()
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            answer = pickle.dumps(work())
            with os.fdopen(writes, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writes)
    return reads


def answer_of(reads: int) -> Any:
    """The answer of such a process, or None if it came to no end."""
    with os.fdopen(reads, "rb") as pipe:
        answer = pipe.read()
    os.wait()
    return pickle.loads(answer) if answer else None


class Hunt:
    """Mutants and what has become of them so far."""

    def __init__(self, subjects: Sequence[Subject], seconds_each: int) -> None:
        self.judge, self.seconds_each = Judge(subjects), seconds_each
        self.courses: dict[Subject, Course] = answer_of(start(lambda: watch(self.judge, subjects), 1800))
        if self.courses is None:
            raise SystemExit("the programs differ without a mutant, or their process died")
        self.kills: Counter[tuple[str, Subject]] = Counter()
        self.fates: Counter[tuple[str, str]] = Counter()
        self.equivalent = load_equivalent()
        self.living: list[Mutant] = []

    def list_subjects(self, mutant: Mutant) -> list[Subject]:
        """The programs that come to a mutant, those first that have killed its like."""
        come = [s for s, c in self.courses.items() if any((mutant.module, line) in c.lines for line in mutant.lines)]
        return sorted(
            come, key=lambda s: (-self.kills[mutant.function, s], -self.kills["", s], self.courses[s].seconds)
        )

    def run(self, mutants: Sequence[Mutant], workers: int, tell: Callable[[str], None]) -> None:
        """Find out what becomes of each."""
        waiting, pending = list(reversed(mutants)), {}
        while waiting or pending:
            while waiting and len(pending) < workers:
                mutant = waiting.pop()
                subjects = self.list_subjects(mutant)
                work = functools.partial(do_mutant, self.judge, mutant, subjects, self.courses)
                pending[start(work, self.seconds_each)] = mutant
            for reads in select.select(list(pending), [], [])[0]:
                self.note(pending.pop(reads), answer_of(reads), tell)

    def note(self, mutant: Mutant, verdict: Verdict | None, tell: Callable[[str], None]) -> None:
        """Count a verdict, and tell of a mutant that lives."""
        verdict = verdict or Verdict("dead", "it comes to no end", None)
        fate = verdict.fate
        if fate == "dead" and verdict.subject:
            self.kills[mutant.function, verdict.subject] += 1
            self.kills["", verdict.subject] += 1
        if mutant.change in self.equivalent:
            fate = "noticed" if fate == "dead" else "equivalent"
        self.fates[mutant.module, fate] += 1
        if fate in ("alive", "noticed"):
            self.living.append(mutant)
        tell(f"{fate:10} {mutant}" + (f"  [{verdict.why}]" if verdict.why else ""))

    def summary(self) -> str:
        """A line for each module."""
        fates = ("dead", "work", "equivalent", "alive", "noticed")
        lines = [f"{'':20}" + "".join(f"{fate:>12}" for fate in fates)]
        for module in sorted({module for module, _ in self.fates}):
            lines += [f"{module:28}" + "".join(f"{self.fates[module, fate]:12}" for fate in fates)]
        return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--module", action="append", choices=MODULES, help="may be given again; without it, all")
    parser.add_argument("--function", action="append", help="only in this function; may be given again")
    parser.add_argument("--kind", help="only programs of this kind: for a first look")
    parser.add_argument("--most", type=int, help="so many, drawn at random; without it, all")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 31), help="of that draw")
    parser.add_argument(
        "--seconds-each", type=int, default=180, help="of processor time; a mutant that takes longer is dead"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--verbose", action="store_true", help="tell of dead mutants, too")
    asked = parser.parse_args(arguments)
    modules = asked.module or MODULES
    mutants = [mutant for module in modules for mutant, _ in list_mutants(module)]
    stale = {change for change in load_equivalent() if change[0] in modules} - {mutant.change for mutant in mutants}
    print("".join(f"no mutant is {': '.join(change)}\n" for change in sorted(stale)), end="", flush=True)
    mutants = [mutant for mutant in mutants if not asked.function or mutant.function in asked.function]
    if asked.most is not None and asked.most < len(mutants):
        print(f"{asked.most} of {len(mutants)} mutants, --seed {asked.seed}", flush=True)
        mutants = Random(asked.seed).sample(mutants, asked.most)
    begun = monotonic()
    subjects = [subject for subject in PROGRAMS if asked.kind in (None, subject.kind)]
    hunt = Hunt(subjects, asked.seconds_each)
    shown = ("dead", "work", "equivalent", "alive", "noticed") if asked.verbose else ("work", "alive", "noticed")
    hunt.run(mutants, asked.workers, lambda line: print(line, flush=True) if line.startswith(shown) else None)
    print(f"{hunt.summary()}\n{len(mutants)} mutants, {monotonic() - begun:.0f} s, {len(hunt.living)} live")
    return int(bool(hunt.living or stale))


if __name__ == "__main__":
    sys.exit(main())
