"""Whether a kernel may miss a value of a semaphore, or push what another core has not written yet, by scripts alone.

What may be is left to kernels that run in turn, whose times tell. Two kinds of handshakes, of one kernel that waits, are not:

* Counting: each of the others adds once, and adds again after it has waited for a semaphore itself; the kernel waits for the
  sum of all, and sets 0 after each wait.
* Flags: others copy one value, and the kernel sets another one between its waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kernbench.engine.turns import acts
from kernbench.tanto.scripts.dataflow_script import DataflowScript

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.cores.storage import Core
    from kernbench.tanto.scripts.script import Script

OnCore = tuple[int, "Core"]  # id and core


class _Act(NamedTuple):
    what: int
    amount: int  # of a copy: the object whose value it is
    waits: int  # of its kernel for semaphores before it


def may_miss(run: GridRun, scripts: Sequence[Script]) -> bool:
    """Whether a value of a semaphore, or a write of another core, may be missed."""
    moving = [script for script in scripts if isinstance(script, DataflowScript)]
    far = set[tuple[str, int, "Core"]]().union(*[script.far for script in moving])
    if any((*name, script.core) in far for script in moving for name in script.unasked):
        return True
    told: dict[OnCore, list[tuple[DataflowScript, list[_Act]]]] = defaultdict(list)
    for script in moving:
        for part, own in _by_part(script).items():
            told[part].append((script, own))
    values = {part: {one.amount for _, own in all for one in own if one.what == acts.SET} for part, all in told.items()}
    return any(_may_pass(all, values, run.semaphores[id][core].value) for (id, core), all in told.items())


def leaves_tiles(kernels: Sequence[RunningKernel], scripts: Sequence[Script]) -> bool:
    """Whether a pipe ends with tiles that no kernel waited for."""
    known: dict[Script, tuple[dict[int, int], dict[int, int]]] = {}
    pushed, waited = defaultdict[OnCore, int](int), defaultdict[OnCore, int](int)
    for kernel, script in zip(kernels, scripts, strict=True):
        if script not in known:
            known[script] = _count_tiles(script)
        more, most = known[script]
        for id, tiles in more.items():
            pushed[id, kernel.core] += tiles
        for id, tiles in most.items():
            waited[id, kernel.core] = max(waited[id, kernel.core], tiles)
    return any(tiles > waited[part] for part, tiles in pushed.items())


def _count_tiles(script: Script) -> tuple[dict[int, int], dict[int, int]]:
    """By the id of a pipe: how many tiles a kernel pushes, and how many it waits for."""
    pushed, waited, rows = dict[int, int](), dict[int, int](), script.act_rows
    for number, (letter, id, _) in enumerate(script.objects):
        if letter == "p":
            own = rows[rows[:, acts.OBJECT] == number]
            pushed[id] = int(own[own[:, acts.ACT] == acts.PUSH, acts.AMOUNT].sum())
            waited[id] = int(own[own[:, acts.ACT] == acts.AWAIT, acts.EXPECTED].max(initial=0))
    return pushed, waited


def _by_part(script: DataflowScript) -> dict[OnCore, list[_Act]]:
    """What a kernel does to each semaphore."""
    parts = [(id, core or script.core) for _, id, core in script.objects]
    found, waits = defaultdict[OnCore, list[_Act]](list), 0
    for what, number, amount, _ in script.act_rows[script.act_rows[:, acts.ACT] >= acts.SET].tolist():
        found[parts[number]].append(_Act(what, amount, waits))
        waits += what == acts.MEET
    return found


def _may_pass(all: list[tuple[DataflowScript, list[_Act]]], values: Mapping[OnCore, set[int]], first: int) -> bool:
    """Whether a semaphore, with what each kernel does to it, may lose a value that a kernel waits for."""
    own = [acts_ for _, acts_ in all if any(one.what == acts.MEET for one in acts_)]
    if not own:
        return False
    waiting, others = own[0], [one for one in all if one[1] is not own[0]]
    met, reset = ({one.amount for one in waiting if one.what == what} for what in (acts.MEET, acts.SET))
    if len(own) > 1 or len(met) > 1 or any(one.what not in (acts.MEET, acts.SET) for one in waiting):
        return True
    if any(one.what == other.what == acts.MEET for one, other in pairwise(waiting)):
        return True
    (value,) = met
    kinds = {one.what for _, acts_ in others for one in acts_}
    if kinds == {acts.INCREASE}:
        return bool(first or reset - {0}) or _may_add_up(value, [acts_ for _, acts_ in others])
    return kinds != {acts.COPY} or value in reset | {first} or any(_copied(*one, values) != {value} for one in others)


def _may_add_up(value: int, others: list[list[_Act]]) -> bool:
    """Whether what others add may be another sum than a value that is waited for."""
    once = sum(acts_[0].amount for acts_ in others) == value
    same = all(len({one.amount for one in acts_}) == 1 for acts_ in others)
    return not (once and same and all(a.waits < b.waits for acts_ in others for a, b in pairwise(acts_)))


def _copied(script: DataflowScript, acts_: list[_Act], values: Mapping[OnCore, set[int]]) -> set[int]:
    """All values that a kernel may copy to a semaphore, from semaphores that it has set."""
    found = set[int]()
    for source in {one.amount for one in acts_}:
        _, id, core = list(script.objects)[source]
        found |= values.get((id, core or script.core), set())
    return found
