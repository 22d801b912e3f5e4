"""The figures of a run, read off its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.machine.costs import FLOP
from kernbench.oplog.utilisation import Bottleneck, busy_of_rows, find_bottleneck, list_parts
from kernbench.program.ops import NONE, Op
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program


MOVED = ("dma_read", "dma_write", "message")  # what counts as moved by PEs


def list_figures(session: Session, launches: Sequence[Launch]) -> dict[str, Any]:
    """What the events of a finished run say, by the names that `RunResult` has for it."""
    exec_fs = pe_exec_fs(session, launches)
    busiest = bottleneck(session, launches)
    return {
        "latency_ns": latency_fs(session, launches) / FS_PER_NS,
        "pe_exec_ns": exec_fs / FS_PER_NS,
        "makespan_ns": session.now_fs / FS_PER_NS,
        "events": session.events,
        "flit_hops": session.flit_hops,
        "achieved_tflops": per_s(gemm_flops(session.program), exec_fs) / 1e12,
        "achieved_gbs": per_s(dma_bytes(session.program), exec_fs) / 1e9,
        "bottleneck": busiest.kind if busiest else None,
        "bottleneck_part": busiest.part if busiest else None,
        "bottleneck_utilisation": busiest.utilisation if busiest else 0.0,
    }


def latency_fs(session: Session, launches: Sequence[Launch]) -> int:
    """From the first launch leaving the host to the last completion back at it; the makespan without a launch."""
    if not launches:
        return session.now_fs
    left = min(launch.left_fs(session.op_issue_fs) for launch in launches)
    back = max(launch.back_fs(session.op_end_fs) for launch in launches)
    return back - left


def pe_exec_fs(session: Session, launches: Sequence[Launch]) -> int:
    """From barrier to last PE, summed over the launches of a SIP; the largest of all SIPs."""
    by_sip: dict[int, int] = {}
    for launch in launches:
        took = launch.pe_exec_fs(session.op_issue_fs, session.op_end_fs)
        by_sip[launch.message.sip] = by_sip.get(launch.message.sip, 0) + took
    return max(by_sip.values(), default=0)


def bottleneck(session: Session, launches: Sequence[Launch]) -> Bottleneck | None:
    """The busiest class of parts: of what kernels did, over their time; without a launch of all, over the makespan."""
    return find_bottleneck(list_parts(session.machine), *busy(session, launches))


def busy(session: Session, launches: Sequence[Launch]) -> tuple[np.ndarray, int]:
    """int64[part] how long each part was busy, and of which window: see `bottleneck`."""
    if not launches:
        return np.concatenate([session.server_busy_fs, session.station_busy_fs]), session.now_fs
    end_fs = session.op_end_fs
    done = np.flatnonzero(own_rows(session.program, launches) & (end_fs >= 0))
    return busy_of_rows(session.program, done, session.op_start_fs, end_fs), pe_exec_fs(session, launches)


def own_rows(program: Program, launches: Sequence[Launch]) -> np.ndarray:
    """bool[row] what kernels do, besides being launched."""
    threads = [NONE, *(thread.id for launch in launches for thread, _ in launch.started)]  # NONE: stages of tile plans
    return np.isin(program.op_thread, threads) & (program.op_tag != program.tag("launch"))


def gemm_flops(program: Program) -> int:
    """The floating-point (or integer) operations given to GEMM engines: two for each multiply-add."""
    of_duration = np.array([_flops(dict(terms)) for terms in program.durations])
    durations = program.op[program.op[:, 0] == Op.EXEC, 2]
    return int(of_duration[durations].sum())


def _flops(amounts: Mapping[str, float]) -> float:
    rated = sum(amount for figure, amount in amounts.items() if figure.startswith("pe_gemm.flop_"))
    return amounts.get(FLOP, rated)


def dma_bytes(program: Program, names: Sequence[str] = MOVED) -> int:
    """The bytes that PEs moved by operations of these names: to and from memory, and to each other."""
    tags = [program.tag(name, "memory") for name in names]
    moves = np.flatnonzero(program.op[:, 0] == Op.MOVE)
    return int(program.op[moves[np.isin(program.op_tag[moves], tags)], 2].sum())


def per_s(amount: int, fs: int) -> float:
    """A rate; 0 for no time."""
    return rate(amount, fs) if fs else 0.0


def rate(amount: int, fs: Any) -> Any:
    """An amount over a time, or over an array of times, in s⁻¹."""
    return amount / (fs * 1e-15)
