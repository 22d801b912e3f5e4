"""Flows as a device program: a thread for each issuer, a transfer for each flow.

No thread waits for the flows of a mesh. They are issued ahead: the time left to their start is the lead before the first
byte, so hardly an event interrupts the passes over the network. They are issued one stretch at a time, which bounds memory
by what is in flight (stretches of 512 to all 300,000 flows on 8 x 8 took the same time). With credits, where a transfer takes
little memory, a stretch has several flows of each thread: a thread's rows stand side by side, so caches serve them in turn.
Flows of PEs hold a DMA channel and those of CPUs follow an act of the CPU, so their threads wait for each start; so do those
of endpoints with limits (`issue`). Under limits the issuer of a read is the node that asks.

Threads are in the order of their nodes, and flows of a thread in that of their starts and then of the file: the order at one
instant never depends on anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.families.mesh.places import MeshPlaces, MeshShape
from kernbench.program.ops import FLITS_MOST, NONE, ROW_WIDTH, Op
from kernbench.program.program import Program
from kernbench.program.rows import pack_rows
from kernbench.traffic.flow_routing import Agent, FlowRoute, count_hops, find_flow_routes
from kernbench.traffic.issue import limit_issue
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.thread import Thread
    from kernbench.traffic.flows import Flows

AHEAD = 1 << 10  # flows issued together, unless more start at one instant
AHEAD_EACH = 64  # of each issuer on average, with credits, if that is more
ROUTE, REQUEST = FlowRoute._fields.index("route"), FlowRoute._fields.index("request_fs")

# Overheads of a PE before the first byte of a command: those of a `tl.load`, with the start of the kernel.
PE_LEAD = (("pe_cpu.overhead", 1), ("pe_scheduler.overhead", 1), ("pe_mmu.tlb", 1), ("pe_dma.overhead", 1))


class Arrival(NamedTuple):
    """One destination of a multicast."""

    flow: int
    destination: str
    arrival_fs: int


class Traffic:
    """The program of some flows. `hops` is int64[flow], the links on the route of each.

    Errors: InputError naming the flow, for a part that is not on the machine, no route, or too many bytes for one transfer.
    """

    def __init__(self, machine: Machine, flows: Flows) -> None:
        largest = int(np.argmax(flows.nbytes))
        if flows.nbytes[largest] > FLITS_MOST * machine.flit_bytes:
            raise InputError(
                f"{flows.where(largest)}: bytes: got {flows.nbytes[largest]}, expected {FLITS_MOST * machine.flit_bytes} "
                f"at most, which is {FLITS_MOST} flits"
            )
        self.program = Program(machine)
        self._machine, self.flows = machine, flows
        routes, which = find_flow_routes(machine, flows)
        self._routes = routes[which]
        self.hops = count_hops(machine, routes[:, ROUTE])[which]
        self._thread = np.zeros(len(flows), np.int64)
        self._row = np.zeros(len(flows), np.int64)  # in its thread
        self._write()

    def rows(self) -> np.ndarray:
        """int64[flow] the op-table row of each flow; known once the program has been run."""
        first = np.array([thread.chunks[0][1] for thread in self.program.threads], np.int64)
        return first[self._thread] + self._row

    def arrivals_fs(self, end_fs: np.ndarray) -> np.ndarray:
        """int64[flow] the last byte at the destination, or at the last of them; `end_fs`: int64[row] of the op table."""
        tables, rows, route = self._machine.routing.tables(), self.rows(), self._routes[:, ROUTE]
        arrival_fs = end_fs[rows] - tables.tail_fs[route]
        for flow in np.flatnonzero(tables.destinations[route]).tolist():
            arrival_fs[flow] = end_fs[self._arrival_rows(flow)].max()
        return arrival_fs

    def list_arrivals(self, end_fs: np.ndarray) -> list[Arrival]:
        """The arrivals of multicasts, flow after flow."""
        routing, names, found = self._machine.routing, self._machine.node_name, list[Arrival]()
        route = self._routes[:, ROUTE]
        for flow in np.flatnonzero(routing.tables().destinations[route]).tolist():
            nodes, at_fs = routing.destinations(int(route[flow])), end_fs[self._arrival_rows(flow)].tolist()
            found += [Arrival(flow, names[node], fs) for node, fs in zip(nodes, at_fs, strict=True)]
        return found

    def _arrival_rows(self, flow: int) -> slice:
        """The rows of the op table with the arrivals of a multicast."""
        row = int(self.rows()[flow])
        return slice(row + 1, row + 1 + len(self._machine.routing.destinations(int(self._routes[flow, ROUTE]))))

    def _write(self) -> None:
        agent, issuer, _, _, request_fs, source = self._routes.T  # see `FlowRoute`
        places = self._machine.places
        limits = places.mesh if isinstance(places, MeshPlaces) and places.mesh.limits_issue else None
        is_open = agent == Agent.NODE
        begins = self.flows.start_fs + np.where(is_open, request_fs, 0)
        if limits:
            issuer, begins = source, self.flows.start_fs
        ahead = max(AHEAD, AHEAD_EACH * len(np.unique(issuer[is_open]))) if self._machine.flow_control else AHEAD
        self._stretches = np.unique(np.append(np.sort(begins[is_open])[ahead::ahead], 0))
        order = np.lexsort((begins, agent, issuer))
        owner = issuer[order] * len(Agent) + agent[order]
        ends = np.flatnonzero(np.diff(owner, append=-1)) + 1
        for flows in np.split(order, ends[:-1]):
            kind, node = int(agent[flows[0]]), int(issuer[flows[0]])
            thread = self.program.thread(f"{self._machine.node_name[node]}/flows")
            self._thread[flows] = thread.id
            if limits:
                self._write_limited(thread, flows, limits)
            elif kind == Agent.NODE:
                self._write_open(thread, flows, begins[flows])
            else:
                self._write_waiting(thread, flows, kind, node)

    def _write_open(self, thread: Thread, flows: np.ndarray, begins: np.ndarray) -> None:
        """Write flows a stretch at a time; the lead of each is the time left to its start."""
        stretch = np.searchsorted(self._stretches, begins, "right") - 1
        moves = self._moves(flows, begins - self._stretches[stretch])
        at = np.flatnonzero(np.diff(stretch, prepend=0))  # the first flow of each stretch but that at time 0
        untils = np.zeros((len(at), ROW_WIDTH), np.int64)
        untils[:, 0], untils[:, 1] = Op.UNTIL, self._stretches[stretch[at]]
        rows = np.insert(moves, at, untils, axis=0)
        self._extend(thread, flows, rows)

    def _extend(self, thread: Thread, flows: np.ndarray, rows: np.ndarray) -> None:
        """Append rows with the transfers of some flows, in their order; arrivals follow each multicast."""
        moves = np.flatnonzero(rows[:, 0] == Op.MOVE)
        arrivals = self._machine.routing.tables().destinations[rows[moves, 1]]
        more = np.zeros((int(arrivals.sum()), ROW_WIDTH), np.int64)
        more[:, 0], more[:, 1] = Op.ARRIVE, NONE
        rows = np.insert(rows, np.repeat(moves + 1, arrivals), more, axis=0)
        self._row[flows] = np.flatnonzero(rows[:, 0] == Op.MOVE)
        thread.extend(pack_rows(rows))

    def _write_limited(self, thread: Thread, flows: np.ndarray, limits: MeshShape) -> None:
        """Write the flows of an endpoint; each waits until it may begin."""
        program, moves = self.program, self._moves(flows, self._routes[flows, REQUEST])
        pause = program.duration(*_wait(limits.issue_fs)) if limits.issue_fs else None
        done = NONE if limits.outstanding is None else program.counter(f"{thread.name} complete")
        rows, _ = limit_issue(moves, self.flows.start_fs[flows], pause, limits.outstanding, done)
        self._extend(thread, flows, rows)

    def _moves(self, flows: np.ndarray, lead_fs: np.ndarray) -> np.ndarray:
        """int64[flow, ROW_WIDTH] the transfers of some flows, which begin int64[flow] after their rows are issued."""
        instants, which = np.unique(lead_fs, return_inverse=True)
        leads = np.array([self.program.duration(*_wait(fs)) for fs in instants.tolist()], np.int64)
        moves = np.full((len(flows), ROW_WIDTH), NONE, np.int64)
        moves[:, 0], moves[:, 1], moves[:, 2] = Op.MOVE, self._routes[flows, ROUTE], self.flows.nbytes[flows]
        moves[:, 3], moves[:, 7] = 0, leads[which]
        return moves

    def _write_waiting(self, thread: Thread, flows: np.ndarray, agent: int, node: int) -> None:
        """Write flows one after the other: wait for the start, act, start the transfer. A PCIe endpoint has no queue."""
        program, machine = self.program, self._machine
        act = server = acted = NONE
        before, overhead = PE_LEAD if agent == Agent.PE else (), (f"{machine.node_kind[node]}.overhead", 1)
        queues = agent == Agent.CPU and machine.node_kind[node] != "pcie_ep"
        if queues:
            act = program.duration(overhead)
            server, acted = machine.places.cpu_server(node), program.counter(f"{thread.name} to act")
        elif agent == Agent.CPU:
            before = (overhead,)
        tables, now_fs = machine.routing.tables(), 0
        for flow in flows.tolist():
            if (start_fs := int(self.flows.start_fs[flow])) > now_fs:
                now_fs = start_fs
                thread.until(start_fs)
            if queues:
                thread.exec(server, act, acted)
                thread.wait(acted, 1, take=1)
            _, _, hold, route, request_fs, _ = self._routes[flow].tolist()
            lead = program.duration(*before, *_wait(request_fs))
            nbytes, destinations = int(self.flows.nbytes[flow]), int(tables.destinations[route])
            if destinations:
                self._row[flow] = thread.multicast(route, nbytes, arrive=[NONE] * destinations, hold=hold, lead=lead)
            else:
                self._row[flow] = thread.move(route, nbytes, hold=hold, lead=lead)


def _wait(fs: int) -> tuple[tuple[str, float], ...]:
    """The terms of a duration in femtoseconds."""
    return (("ns", fs / FS_PER_NS),) if fs else ()
