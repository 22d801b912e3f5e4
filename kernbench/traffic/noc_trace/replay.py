"""Replay a NoC trace on a chip: simulated cycles beside those of the trace, and what was waited for.

Open loop, the default: each event at its time in the trace, barriers as long as they take. Closed loop: each event the measured
gap after the one before it, and what follows a barrier after its simulated end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.engine import Session
from kernbench.errors import InputError
from kernbench.traffic.noc_trace.events import BARRIERS, NOTE_CYCLES, Event, Kind, NocTrace, Place
from kernbench.traffic.noc_trace.lowering import Issuer, Lowering
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine.network_waits import NetworkWaits
    from kernbench.machine.machine import Machine
    from kernbench.program.thread import Thread


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier: when it ended, in cycles from the beginning of the trace."""

    x: int
    y: int
    processor: str
    row: int  # of the trace
    simulated_cycle: float
    trace_cycle: int


@dataclass(frozen=True, slots=True, repr=False)
class NocReplay:
    """The result of a replay."""

    file: Path
    topology: str
    mode: str
    closed_loop: bool
    events: int
    simulated_cycles: float
    trace_cycles: int
    barriers: list[Barrier]
    turn_ns: float  # that requests waited until their interface replied
    network: NetworkWaits | None  # None on a machine without credits
    wall_s: float

    def __repr__(self) -> str:
        cycles = f"{self.simulated_cycles:,.0f} of {self.trace_cycles:,} cycles"
        return f"<NocReplay of {self.file.name} on {self.topology}: {cycles}; .to_dict()>"

    @property
    def error(self) -> float:
        """Simulated cycles over those of the trace, less 1."""
        return self.simulated_cycles / self.trace_cycles - 1

    @property
    def barrier_error(self) -> float | None:
        """The mean over barriers of the absolute error of their ends; None without barriers whose end is noted."""
        errors = [abs(one.simulated_cycle / one.trace_cycle - 1) for one in self.barriers]
        return sum(errors) / len(errors) if errors else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        waits = {} if self.network is None else {"network": self.network.to_dict()}
        return {
            "file": str(self.file),
            "topology": self.topology,
            "mode": self.mode,
            "closed_loop": self.closed_loop,
            "events": self.events,
            "simulated_cycles": self.simulated_cycles,
            "trace_cycles": self.trace_cycles,
            "error": self.error,
            "barrier_error": self.barrier_error,
            "barriers": [{name: getattr(one, name) for name in Barrier.__dataclass_fields__} for one in self.barriers],
            "turn_ns": self.turn_ns,
            "wall_s": self.wall_s,
            **waits,
        }

    def to_row(self) -> dict[str, Any]:
        """The figures without lists; `waiting_ns` is the time lost to contention in the network, by kind behind it."""
        row = {
            name: value
            for name, value in self.to_dict().items()
            if name not in ("barriers", "network", "wall_s", "mode", "closed_loop")
        }
        if self.network is not None:
            links = self.network.list_links()
            row["waiting_ns"] = sum(link["waiting_ns"] for link in links)
            row["busiest_link"] = links[0]["link"] if links else None
            row |= {
                f"{cause}_ns": ns for cause, ns in self.network.total_ns.items() if cause not in ("moves", "pipeline")
            }
        return row


def replay_trace(machine: Machine, trace: NocTrace, mode: str = "hybrid", *, closed_loop: bool = False) -> NocReplay:
    """Replay a trace on a chip. Errors: InputError for a machine of another family, and for places off the chip."""
    lowering = Lowering(machine)
    ends = [
        end
        for (x, y, name), events in sorted(trace.processors.items())
        for end in _Processor(lowering, trace.path, (x, y), name).lower(events, closed_loop=closed_loop)
    ]
    session = Session(lowering.program, mode, count_waits=machine.flow_control is not None)
    session.run()
    session.check_finished()
    end_fs, cycle_fs = session.op_end_fs, lowering.cycle_fs
    barriers = [
        Barrier(x, y, name, event.row, float(end_fs[thread.find_row(row)]) / cycle_fs + NOTE_CYCLES, event.cycle)
        for thread, row, event, (x, y), name in ends
    ]
    turns = [thread.find_row(row) for thread, row in lowering.replies]
    turn_fs = (session.op_start_fs[turns] - session.op_issue_fs[turns]).sum() if turns else 0
    return NocReplay(
        file=trace.path,
        topology=machine.name,
        mode=mode,
        closed_loop=closed_loop,
        events=trace.event_count,
        simulated_cycles=session.now_fs / cycle_fs,
        trace_cycles=trace.cycles,
        barriers=barriers,
        turn_ns=float(turn_fs) / FS_PER_NS,
        network=session.network_waits,
        wall_s=session.wall_s,
    )


_End = tuple["Thread", int, Event, Place, str]  # the row of a wait, and the event that notes its end


class _Processor:
    """The rows of a processor."""

    def __init__(self, lowering: Lowering, path: Path, place: Place, name: str) -> None:
        self._lowering, self._path, self._place, self._name = lowering, path, place, name
        self._thread = lowering.program.thread(f"{place[0]},{place[1]} {name}")
        self._issuers: dict[int, Issuer] = {}

    def lower(self, events: Sequence[Event], *, closed_loop: bool) -> Iterator[_End]:
        """Write the rows of events; gives each barrier whose end is noted."""
        self._lowering.check_core(self._place, f"{self._path}: row {events[0].row}")
        before, row, noted = 0, None, False
        for event in events:
            if event.kind is Kind.WAITED:
                if row is not None:
                    yield self._thread, row, event, self._place, self._name
                    noted = True
                before = event.cycle
                continue
            if closed_loop:
                if noted:
                    self._thread.delay(self._lowering.note)
                self._thread.delay(self._lowering.cycles(event.cycle - before))
            else:
                self._thread.until(round(event.cycle * self._lowering.cycle_fs))
            before, row, noted = event.cycle, self._act(event), False

    def _act(self, event: Event) -> int | None:
        """Write the rows of an event; returns the row of a barrier's wait."""
        issuer = self._issuers.get(event.network)
        if issuer is None:
            issuer = self._issuers[event.network] = Issuer(self._lowering, self._thread, self._place, event.network)
        kind, where = event.kind, f"{self._path}: row {event.row}"
        if kind in BARRIERS:
            return issuer.wait(reads=kind is not Kind.WAIT_WRITES, writes=kind is not Kind.WAIT_READS)
        if event.corners:
            issuer.multicast(self._inside(event.corners, where), event.nbytes)
        elif event.other:
            self._lowering.check_memory(event.other, where)
            if kind is Kind.READ:
                issuer.read(event.other, event.nbytes)
            else:
                issuer.write(event.other, event.nbytes if kind is Kind.WRITE else self._lowering.signal_bytes)
        return None

    def _inside(self, corners: tuple[Place, Place], where: str) -> list[Place]:
        """The other cores between two corners. Errors: InputError for a corner off the chip, and if none is inside."""
        places, grid = self._lowering.places, self._lowering.places.grid
        (ax, ay), (bx, by) = corners
        low, high = (min(ax, bx), min(ay, by)), (max(ax, bx), max(ay, by))
        if low[0] < 0 or low[1] < 0 or high[0] >= grid.width or high[1] >= grid.height:
            self._lowering.check_core(low if min(low) < 0 else high, where)
        found = [places.physical(core) for core in places.inside(low, high)]
        targets = [place for place in found if place != self._place]
        if not targets:
            raise InputError(
                f"{where}: there is no other core between {corners[0]} and {corners[1]} of {self._lowering.machine.name}"
            )
        return targets
