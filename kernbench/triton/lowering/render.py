"""The rows of programs on a PE: a script with the PE's servers and counters, and each program's routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.triton.lowering.script import ROW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernbench.triton.lowering.script import Script
    from kernbench.triton.lowering.tensor_pieces import TensorPieces

_ROUTE, _BYTES, _STRIPE = 2, 3, 4  # columns of a transfer
PLAN = 2  # of the start of a plan
_VALUE, _TAKES = 4, 5  # of a wait


class ProgramRows(NamedTuple):
    """The rows of one program on a PE: int64[row, ROW], int64[] where plans start, int64[line, 2] (row, source line).

    `transfers` is int64[access], how many each has become.
    """

    rows: np.ndarray
    pipes: np.ndarray
    lines: np.ndarray
    transfers: np.ndarray


def render(
    script: Script, which: np.ndarray, numbers: Sequence[int], tensors: Mapping[int, TensorPieces]
) -> list[ProgramRows]:
    """The rows of some programs of a script's group, int64[program], on the PE of these numbers and tensors.

    Plans are not named yet. Errors: AddressError.
    """
    rows = _fill(script, numbers)
    programs = len(which)
    lines = np.array(script.lines, np.int64).reshape(-1, 2)
    pipes = np.array(script.pipes, np.int64)
    if not script.accesses:
        return [ProgramRows(rows.copy(), pipes, lines, np.zeros(0, np.int64)) for _ in range(programs)]
    own = _find_transfers(script, which, tensors)
    counts = np.ones((programs, len(rows)), np.int64)
    moves = np.array(script.moves, np.int64)
    counts[:, moves] = own.count
    start = np.zeros((programs, len(rows) + 1), np.int64)
    np.cumsum(counts, axis=1, out=start[:, 1:])
    if (counts == counts[0]).all():
        place = np.repeat(np.arange(len(rows)), counts[0])
        every = np.tile(rows[place], (programs, 1, 1))
        written = list(every)
    else:
        written = [rows[np.repeat(np.arange(len(rows)), counts[at])] for at in range(programs)]
    first = np.concatenate([[0], np.cumsum(own.count.sum(axis=1))])
    waits = np.array(script.waits, np.int64).reshape(-1, 2)
    found: list[ProgramRows] = []
    for at, mine in enumerate(written):
        here = slice(first[at], first[at + 1])
        to = np.repeat(start[at, moves], own.count[at])
        to += np.arange(len(to)) - np.repeat(np.cumsum(own.count[at]) - own.count[at], own.count[at])
        mine[to, _ROUTE], mine[to, _BYTES], mine[to, _STRIPE] = own.route[here], own.nbytes[here], own.stripe[here]
        waiting = start[at, waits[:, 0]]
        mine[waiting, _VALUE] = mine[waiting, _TAKES] = own.count[at, waits[:, 1]]
        moved = np.column_stack([start[at, lines[:, 0]], lines[:, 1]])
        found.append(ProgramRows(mine, start[at, pipes], moved, own.count[at]))
    return found


class _Found(NamedTuple):
    """The transfers of programs, program by program, access by access; `count` is int64[program, access]."""

    count: np.ndarray
    route: np.ndarray
    nbytes: np.ndarray
    stripe: np.ndarray


def _find_transfers(script: Script, which: np.ndarray, tensors: Mapping[int, TensorPieces]) -> _Found:
    """The transfers of the accesses of programs."""
    accesses, programs = script.accesses, len(which)
    count = np.zeros((programs, len(accesses)), np.int64)
    parts: list[tuple[np.ndarray, ...]] = []
    groups: dict[tuple[int, bool], list[int]] = {}
    for at, access in enumerate(accesses):
        groups.setdefault((access.tensor, access.write), []).append(at)
    for (tensor, write), members in groups.items():
        sizes = [len(accesses[at].descriptors.start) for at in members]
        access = np.repeat(members, sizes)
        columns = [np.concatenate(column) for column in zip(*(accesses[at].descriptors for at in members), strict=True)]
        base = np.stack([accesses[at].base[which] for at in members], axis=1)  # [program, member]
        start = columns[0] + np.repeat(base, sizes, axis=1)
        asked = type(accesses[members[0]].descriptors)(
            start.reshape(-1), *(np.tile(column, programs) for column in columns[1:])
        )
        found = tensors[tensor].find(asked, write=write)
        program, which_one = np.divmod(found.descriptor, len(access))
        key = program * len(accesses) + access[which_one]
        parts.append((key, found.descriptor, found.route, found.nbytes, found.stripe))
    key, _, route, nbytes, stripe = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(key, kind="stable")
    count = np.bincount(key, minlength=programs * len(accesses)).reshape(programs, len(accesses))
    return _Found(count, route[order], nbytes[order], stripe[order])


def _fill(script: Script, numbers: Sequence[int]) -> np.ndarray:
    """int64[row, ROW] a script's rows with the numbers of a PE in place of placeholders."""
    rows = np.array(script.rows, np.int64).reshape(-1, ROW)
    held = np.asarray(numbers, np.int64)
    at = rows < -1
    rows[at] = held[-2 - rows[at]]
    return rows
