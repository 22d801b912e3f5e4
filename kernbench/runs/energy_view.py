"""The energy of a run by what it is drawn at: the row of the op log that held a part, and the links and channels of transfers.

The bytes of a transfer cost at the links and memory channels that they pass, a router's share at the link that leads to it; all
else that a row costs is at the part that it held. Floats of attojoules: a picture needs no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.energy.row_energies import RowEnergies
from kernbench.energy.run_energy import is_priced

if TYPE_CHECKING:
    from kernbench.oplog.transfer_kinds import TransferKinds
    from kernbench.oplog.utilisation import KindServices
    from kernbench.program.program import Program


class ViewEnergy:
    """The energies of a program's rows as a picture has them; 0 on a machine without prices."""

    def __init__(self, program: Program, kinds: TransferKinds, services: KindServices) -> None:
        """`kinds` are those of all rows, `services` those of the kinds."""
        self._kinds, self._rows = kinds, RowEnergies(program) if is_priced(program.machine) else None
        nbytes = services.nbytes * services.count
        self.of_service = (
            np.zeros(len(nbytes)) if self._rows is None else nbytes * _byte_aj(self._rows, kinds, services)
        )
        self._passed = np.bincount(services.kind, self.of_service, len(kinds.kinds) + 1)  # by kind; the last is none

    def held(self, row: np.ndarray) -> np.ndarray:
        """float64[n] what int64[n] rows of the op table cost where they hold a part."""
        if self._rows is None:
            return np.zeros(len(row))
        energies = self._rows.energies_aj.astype(np.float64)[self._rows.program.op.entry[row]]
        moves = np.isin(self._rows.program.op.entry[row], self._rows.moves)
        passed = np.where(moves, self._passed[np.asarray(self._kinds.which[row])], 0.0)
        return np.maximum(energies - passed, 0.0)


def _byte_aj(rows: RowEnergies, kinds: TransferKinds, services: KindServices) -> np.ndarray:
    """float64[service] the price of a byte at a link or memory channel."""
    machine, prices = rows.program.machine, rows.prices
    at_link = prices.edge_aj + prices.of(prices.node)[machine.edge_dst]
    channels = len(machine.station_name) - machine.edge_count
    ways = np.zeros((2, channels))  # by direction, reads first
    for node, terminal in machine.terminals.items():
        first = terminal.first_station - machine.edge_count
        for way, action in enumerate((prices.read, prices.write)):
            ways[way, first : first + terminal.stripes] = prices.of(action[[node]])[0]
    direction = machine.routing.tables().direction[kinds.kinds[:, 0]][services.kind]
    link = services.station < machine.edge_count
    found = np.zeros(len(services.station))
    found[link] = at_link[services.station[link]]
    found[~link] = ways[direction[~link], services.station[~link] - machine.edge_count]
    return found
