"""The cost of a credit on its route back to the sender of a message.

A credit is a few bytes that do not contend: it pays the uncontended time of every node and link of its route and delays
nothing else. The propagation is that of its route, so it is not counted here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kernbench.machine.intents import Intent
from kernbench.machine.origins import link_field, part_of_node
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
    """The time of a byte on a link, as one term."""
    origins = machine.origins()
    at = int(origins.service[edge])
    if at >= 0 and (field := origins.known[at].field) in machine.figures:
        return f"{field.removesuffix('.gbs')}.byte", 1 / (origins.known[at].factor or 1)
    kinds = machine.node_kind
    field = link_field(kinds[machine.edge_src[edge]], kinds[machine.edge_dst[edge]])
    if field is None or field not in machine.figures:
        return "ns", 1 / float(machine.edge_gbs[edge])
    return f"{field.removesuffix('.gbs')}.byte", machine.figures[field] / float(machine.edge_gbs[edge])


def _overhead(machine: Machine, node: int) -> tuple[str, float]:
    """The overhead of a node, as one term."""
    origins = machine.origins()
    at = int(origins.node[node])
    if at >= 0 and (figure := origins.known[at].field.removesuffix("_ns")) in machine.figures:
        return figure, 1
    figure, overhead_fs = f"{part_of_node(machine.node_kind[node])}.overhead", int(machine.node_overhead_fs[node])
    return (figure, 1) if machine.figures.get(figure) == overhead_fs else ("ns", overhead_fs / FS_PER_NS)
