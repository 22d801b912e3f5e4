"""The cost of a credit on its route back to the sender of a message.

A credit is a few bytes that do not contend: it pays the service of every link and the overhead of every node of its route and
delays nothing else. The propagation is that of its route, so it is not counted here. The sum is a duration of the program, as
amounts of figures, and not a transfer: bytes are not rounded up to the quantum of a link.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kernbench.machine.intents import Intent
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def credit_terms(machine: Machine, source: int, target: int, nbytes: int) -> tuple[tuple[str, float], ...]:
    """The terms, as `Program.duration` takes them, of a credit of `nbytes` between two nodes."""
    terms: defaultdict[str, float] = defaultdict(float)
    for edge in machine.routing.edges_between(source, target, Intent.PE_DMA):
        figure, amount = _byte(machine, edge)
        terms[figure] += nbytes * amount
        node = int(machine.edge_dst[edge])
        if node != target:
            figure, amount = _overhead(machine, node)
            terms[figure] += amount
    return tuple((figure, amount) for figure, amount in sorted(terms.items()) if amount)


def _byte(machine: Machine, edge: int) -> tuple[str, float]:
    """The time of a byte on a link, as an amount of a figure."""
    found = machine.provenance.sources[machine.provenance.service[edge]].cost
    return found if found[0] in machine.figures else ("ns", 1 / float(machine.edge_gbs[edge]))


def _overhead(machine: Machine, node: int) -> tuple[str, float]:
    """The overhead of a node, as an amount of a figure."""
    at, overhead_fs = int(machine.provenance.node[node]), int(machine.node_overhead_fs[node])
    if at >= 0:
        source = machine.provenance.sources[at]
        figure, amount = source.cost
        if figure in machine.figures and (source.origin or machine.figures[figure] == overhead_fs):
            return figure, amount
    return "ns", overhead_fs / FS_PER_NS
