"""Shares of a critical path: by operation, by line of a kernel's source, by launch, by operator of a network.

A piece of the path belongs to the operation that did the work, to the line that issued it, and to the launch of its PE. What
no kernel issued, such as the messages of a launch, has no line; what happens outside PEs belongs to no launch. Operators follow
each other, so a piece belongs to the one in whose time it begins.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from linecache import getline
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kernbench.energy.row_groups import spread_over_stages
from kernbench.library import show_path
from kernbench.program.ops import NONE
from kernbench.runs.roofline import Rates, find_rates
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.oplog.causes import Times
    from kernbench.oplog.critical import Piece
    from kernbench.program.program import Program

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class LineTime:
    """The share of one line of a kernel. `place` is file:line, "" for what no kernel issued; `text` is the line."""

    place: str
    text: str
    path_fs: int
    pieces: int

    def to_dict(self) -> dict[str, Any]:
        """Its fields, times in ns."""
        return {"place": self.place, "text": self.text, "path_ns": self.path_fs / FS_PER_NS, "pieces": self.pieces}


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """The launches of a kernel at one line of the host.

    `kernel_fs`: from barrier to last PE, summed over the launches of a SIP, the largest of all SIPs. `path_fs`: of the PEs.
    """

    kernel: str
    place: str  # file:line of the call
    launches: int
    kernel_fs: int
    path_fs: int
    rates: Rates | None  # None: nothing was multiplied or moved

    def to_dict(self) -> dict[str, Any]:
        """Its fields, times in ns; the rates and their shares of the peak."""
        found: dict[str, Any] = {
            "kernel": self.kernel,
            "place": self.place,
            "launches": self.launches,
            "kernel_ns": self.kernel_fs / FS_PER_NS,
            "path_ns": self.path_fs / FS_PER_NS,
        }
        rates = ("achieved_tflops", "tflops_of_peak", "achieved_gbs", "gbs_of_peak")
        return found | {name: None if self.rates is None else getattr(self.rates, name) for name in rates}


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """An operator of a network in a part that was simulated. `spent_fs`: the path by class of part, the longest first."""

    section: str
    operator: str
    path_fs: int
    spent_fs: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Its fields, times in ns."""
        return {
            "section": self.section,
            "operator": self.operator,
            "path_ns": self.path_fs / FS_PER_NS,
            "spent_ns": {kind: fs / FS_PER_NS for kind, fs in self.spent_fs.items()},
        }


def time_by_operation(path: Sequence[Piece]) -> dict[str, int]:
    """The time (fs) of each operation on the path, the longest first."""
    return {name: fs for name, (fs, _) in _sums(path, lambda piece: piece.name).items()}


def time_by_line(program: Program, path: Sequence[Piece]) -> tuple[LineTime, ...]:
    """The time of each line of kernels on the path, the longest first."""
    sums = _sums(path, lambda piece: program.source_of(piece.issued) if piece.issued != NONE else program.sources[0])
    return tuple(
        LineTime(f"{show_path(file)}:{line}" if line else "", getline(file, line).strip(), fs, pieces)
        for (file, line), (fs, pieces) in sums.items()
    )


def time_by_launch(
    program: Program, path: Sequence[Piece], launches: Sequence[Launch], times: Times
) -> tuple[LaunchTime, ...]:
    """The time of each kernel's launches, in the order of the first of each."""
    if not launches:
        return ()
    of_thread = launch_of_thread(program, launches)
    by_launch = _sums(
        path, lambda piece: int(of_thread[program.op_thread[piece.issued]]) if piece.issued != NONE else NONE
    )
    of_row = launch_of_row(program, of_thread)
    groups: dict[tuple[str, str], list[int]] = {}
    for at, launch in enumerate(launches):
        groups.setdefault((launch.message.kernel_ref, launch.place), []).append(at)
    found: list[LaunchTime] = []
    for (kernel, place), group in groups.items():
        own = [launches[at] for at in group]
        by_sip: dict[int, int] = {}
        for launch in own:
            took = launch.pe_exec_fs(times.issue_fs, times.end_fs)
            by_sip[launch.message.sip] = by_sip.get(launch.message.sip, 0) + took
        kernel_fs, path_fs = max(by_sip.values()), sum(by_launch.get(at, (0, 0))[0] for at in group)
        rates = find_rates(program, own, kernel_fs, np.isin(of_row, group))
        found.append(LaunchTime(kernel, place, len(own), kernel_fs, path_fs, rates))
    return tuple(found)


def time_by_operator(path: Sequence[Piece], operators: Sequence[Mapping[str, Any]]) -> tuple[OperatorTime, ...]:
    """What each operator of a network's answer is spent on, in order; those without a piece are left out."""
    begins = [row["start_fs"] for row in operators]
    pieces: dict[int, list[Piece]] = {}
    for piece in path:
        pieces.setdefault(max(bisect_right(begins, piece.start_fs) - 1, 0), []).append(piece)
    return tuple(_sum_operator(row, pieces[at]) for at, row in enumerate(operators) if at in pieces)


def _sum_operator(row: Mapping[str, Any], pieces: Sequence[Piece]) -> OperatorTime:
    spent: dict[str, int] = {}
    for piece in pieces:
        for kind, fs in piece.spent_fs.items():
            spent[kind] = spent.get(kind, 0) + fs
    ordered = dict(sorted(spent.items(), key=lambda item: (-item[1], item[0])))
    return OperatorTime(row["section"], row["operator"], sum(one.end_fs - one.start_fs for one in pieces), ordered)


def launch_of_thread(program: Program, launches: Sequence[Launch]) -> np.ndarray:
    """int64[thread + 1] the index of the launch of a thread, NONE for other threads; the last, which NONE reads, is NONE."""
    found = np.full(len(program.threads) + 1, NONE)
    for at, launch in enumerate(launches):
        found[[thread.id for thread, _ in launch.started]] = at
    return found


def launch_of_row(program: Program, of_thread: np.ndarray) -> np.ndarray:
    """int64[row] the index of the launch that issued a row, NONE for others; a stage belongs to the start of its plan."""
    return spread_over_stages(program, of_thread[program.op_thread.values][program.op_thread.entry])


def _sums(path: Sequence[Piece], key: Callable[[Piece], Key]) -> dict[Key, tuple[int, int]]:
    """The time (fs) and the number of the pieces of each key, the longest time first."""
    found: dict[Key, tuple[int, int]] = {}
    for piece in path:
        of = key(piece)
        fs, pieces = found.get(of, (0, 0))
        found[of] = fs + piece.end_fs - piece.start_fs, pieces + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], str(item[0]))))
