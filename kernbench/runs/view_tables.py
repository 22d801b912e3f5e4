"""The tables of a finished run that the viewer draws it from, beside the op log: its machine, and what was where when.

| table | a row for |
|---|---|
| machine_nodes, machine_links | each node and link of the machine with all overrides |
| machine_parts | each part of it that can be busy, with its class `kind` |
| held_parts | each row of the op log: `part` that it held from start to end, of machine_parts, -1: none; its `energy_aj` |
| transfers | each far end of a transfer: `row` of the op log, `leave_fs` and `arrive_fs` of data, node `far`, `inward` |
| transfer_services | each part that a kind of transfers passes: `kind`, `part`; of one: `served_fs`, `bytes`, `energy_aj` |

Transfers have a `kind` too; `inward` says that data come from `far`, as those of a read. Utilisation over time follows from
these tables (`kernbench.trace.use`), so a run takes no time for what nobody looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.machine_tables import make_link_table, make_node_table, make_part_table
from kernbench.machine.network.flit_service import padded_service_fs
from kernbench.oplog.transfer_kinds import STRIPE, group_transfers
from kernbench.oplog.transfers import find_transfers
from kernbench.oplog.utilisation import list_parts, list_services
from kernbench.runs.energy_view import ViewEnergy
from kernbench.runs.file_names import HELD, LINKS, NODES, PARTS, SERVICES, TRANSFERS
from kernbench.trace.counters import find_held_servers

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine
    from kernbench.oplog.causes import Times
    from kernbench.oplog.utilisation import KindServices
    from kernbench.program.program import Program


def make_view_tables(program: Program, times: Times, row: np.ndarray) -> dict[str, polars.DataFrame]:
    """The tables of a run by file; `row`: int64[row of the op log] its row in the op table."""
    import polars

    machine = program.machine
    kinds = group_transfers(program, times.end_fs >= 0, STRIPE)
    services = list_services(machine, kinds.kinds)
    energy = ViewEnergy(program, kinds, services)
    return {
        NODES: make_node_table(machine),
        LINKS: make_link_table(machine),
        PARTS: make_part_table(machine).with_columns(polars.Series("kind", list_parts(machine).kind, polars.String)),
        HELD: polars.DataFrame({"part": find_held_servers(program)[row], "energy_aj": energy.held(row)}),
        TRANSFERS: _make_transfers(program, times, row, kinds.which[row]),
        SERVICES: _make_services(machine, services, energy),
    }


def _make_transfers(program: Program, times: Times, row: np.ndarray, kind: np.ndarray) -> polars.DataFrame:
    import polars

    found = find_transfers(program, times, row)
    of = found.far.transfer
    at = found.at[of]
    arrive_fs = np.where(found.is_read[of], found.arrive_fs[of], found.far.time_fs)
    return polars.DataFrame(
        {
            "row": at.astype(np.int32),
            "leave_fs": found.leave_fs[of],
            "arrive_fs": arrive_fs,
            "far": found.far.node.astype(np.int32),
            "inward": found.is_read[of],
            "kind": kind[at].astype(np.int32),
        }
    )


def _make_services(machine: Machine, services: KindServices, energy: ViewEnergy) -> polars.DataFrame:
    import polars

    full_fs = machine.stations.fs_per_flit[services.station]
    found = polars.DataFrame(
        {
            "kind": services.kind.astype(np.int32),
            "part": (len(machine.server_name) + services.station).astype(np.int32),
            "served_fs": padded_service_fs(services.nbytes, full_fs, machine.flit_bytes) * services.count,
            "bytes": services.nbytes * services.count,
            "energy_aj": energy.of_service,
        }
    )
    return found.filter(polars.col("bytes") > 0).group_by("kind", "part").sum().sort("kind", "part")
