"""A variant of a machine: a copy with other times, computed again from their origins (see `field_provenance`).

It keeps the counts, the wiring and the routes of the machine, these under the same ids.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.parts.derived import Origin

MOST_FS = 1 << 53  # what a float64 holds exactly: nine seconds


def make_variant(base: Machine, values: Mapping[str, float]) -> Machine:
    """The machine with these values of fields that decide times alone, of `base.origins().fields`, each in its own unit.

    Errors: OverflowError for a value of which a time follows that is beyond counting.
    """
    origins, made = base.origins(), copy.copy(base)
    varied = {name: origin for name, origin in origins.figures.items() if origin.field in values}
    made.figures = {**base.figures, **values, **{name: _fs(each, values[each.field]) for name, each in varied.items()}}
    made.prices = base.prices.with_rates(values)
    made.overrides = {**base.overrides, **values}
    made.digest = hashlib.sha256(f"{base.digest}\n{dict(values)}".encode()).hexdigest()
    made.edge_gbs, made.node_overhead_fs = base.edge_gbs.copy(), base.node_overhead_fs.copy()
    service, turn = base.stations.fs_per_flit.copy(), base.stations.turn_fs.copy()
    overhead_fs = dict[int, int]()  # by origin
    for at, origin in enumerate(origins.known):
        if origin.field not in values:
            continue
        value, is_rate = values[origin.field], origin.factor is not None
        fs = round(_fs(origin, value, base.flit_bytes if is_rate else 1))
        stations = np.flatnonzero(origins.service == at)
        service[stations] = turn[origins.turn == at] = made.node_overhead_fs[origins.node == at] = fs
        made.edge_gbs[stations[stations < base.edge_count]] = value * (origin.factor or 1)
        overhead_fs[at] = fs
    made.stations = base.stations._replace(fs_per_flit=service, turn_fs=turn)
    made.terminals = {
        node: replace(one, overhead_fs=overhead_fs.get(int(origins.overhead[one.first_station]), one.overhead_fs))
        for node, one in base.terminals.items()
    }
    made.routing = base.routing.on(made)
    return made


def _fs(origin: Origin, value: float, amount: int = 1) -> float:
    with np.errstate(over="ignore", divide="ignore"):
        found = float(origin.fs(np.array(value), amount))
    if not found <= MOST_FS:
        raise OverflowError(f"a time is more than {MOST_FS} fs")
    return found
