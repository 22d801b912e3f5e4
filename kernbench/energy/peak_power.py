"""Peak power: what the parts of a machine draw if each works at its full rate, all at once.

It is a bound that no run reaches. An engine draws its dearest action at the rate of its figures, a matrix engine that is
dropped in that of f16 products as large as the machine's tiles, a memory its dearer direction, a link its bandwidth, a router
what all links into it bring. Commands have no rate and are left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.energy.byte_prices import NO_ACTION, find_byte_prices
from kernbench.energy.static import Instances, mean_w
from kernbench.machine.costs import FLOP, tile_tflops
from kernbench.machine.dies import Die, Job, find_dies
from kernbench.machine.families.registry import FAMILIES
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

W_PER_AJ_TFLOPS = 1e-6  # an aJ a flop at a TFLOPS is a µW
W_PER_AJ_GBS = 1e-9  # an aJ a byte at a GB/s is a nW
BOTH_WAYS = ("read_byte", "write_byte")  # actions of one part that go on at once
PRODUCT, CODE = "matmul", "code_cycle"  # the operation of a matrix unit at full rate; what no server does
SINGLY = "job", "transfer", "tlb", "sram_byte", "hbm_byte"  # actions without a rate of their own


class Peak(NamedTuple):
    """The dynamic peak of the parts of a name on one die, W; die None: on the board."""

    die: Die | None
    part: str
    watts: float


def list_peaks(machine: Machine) -> list[Peak]:
    """The peaks of all parts; links under the part that prices them."""
    found: defaultdict[tuple[Die | None, str], float] = defaultdict(float)
    dies = find_dies(machine)
    of_node = [None if die < 0 else dies.dies[die] for die in dies.of_node.tolist()]
    for die, part, count in Instances.of(machine).counts:
        found[die, part] += count * _engine_w(machine, part)
    for server, (kind, slots) in enumerate(zip(machine.server_kind, machine.server_slots.tolist(), strict=True)):
        for part, watts in _cycle_w(machine, kind).items():
            found[of_node[_node_of(machine, server)], part] += slots * watts
    prices = find_byte_prices(machine)
    parts = [part for part, _ in prices.actions]
    link_w = machine.edge_gbs * prices.edge_aj * W_PER_AJ_GBS
    for edge in np.flatnonzero((prices.edge != NO_ACTION) & (link_w > 0)).tolist():
        found[of_node[machine.edge_src[edge]], parts[prices.edge[edge]]] += float(link_w[edge])
    into = np.zeros(machine.node_count)
    np.add.at(into, machine.edge_dst, machine.edge_gbs)
    for node in np.flatnonzero(prices.node != NO_ACTION).tolist():
        action = prices.node[node]
        found[of_node[node], parts[action]] += float(into[node] * prices.price_aj[action] * W_PER_AJ_GBS)
    for node, terminal in machine.terminals.items():
        dearer = max(prices.read[node], prices.write[node], key=lambda action: prices.of(np.array([action]))[0])
        if dearer != NO_ACTION:
            fs = int(machine.stations.fs_per_flit[terminal.first_station])
            gbs = terminal.stripes * machine.flit_bytes * FS_PER_NS / fs
            found[of_node[node], parts[dearer]] += float(gbs * prices.price_aj[dearer] * W_PER_AJ_GBS)
    return [Peak(die, part, watts) for (die, part), watts in found.items() if watts]


def _node_of(machine: Machine, server: int) -> int:
    """The node at the path of a server, or above it, else the first."""
    path = machine.server_name[server]
    while path and path not in machine.node_id:
        path = path.rpartition(".")[0]
    return machine.node_id.get(path, 0)


def _cycle_w(machine: Machine, kind: str) -> dict[str, float]:
    """The peak of a server whose jobs are given in cycles, by part: what it does in one."""
    rule, found = FAMILIES[machine.family].actions(), dict[str, float]()
    if rule is None:
        return found
    for cycle, fs in ((f"{part}.cycle", machine.figures.get(f"{part}.cycle")) for part in machine.prices.parts):
        done = rule(Job(kind, PRODUCT, ((cycle, 1),), machine.figures)) if fs else ()
        for part, action, amount in done:
            price = machine.prices.find(part, action)
            if price and fs and action != CODE:
                found[part] = found.get(part, 0.0) + mean_w(price * amount, fs)
    return found


def _engine_w(machine: Machine, part: str) -> float:
    """The peak of one part whose figures say how long an action takes."""
    prices = machine.prices.parts.get(part)
    if prices is None:
        return 0.0
    watts: dict[str, float] = {}
    for action, price in prices.energy.items():
        fs = machine.figures.get(f"{part}.{action}", 0)
        if price and fs and action not in SINGLY:
            watts[action] = mean_w(price, fs)
    if price := prices.energy.get(FLOP):  # an engine that is dropped in, which has no figure of its rate
        watts[FLOP] = price * tile_tflops(machine, 16) * W_PER_AJ_TFLOPS
    both = sum(watts.pop(action, 0.0) for action in BOTH_WAYS)
    return both + max(watts.values(), default=0.0)
