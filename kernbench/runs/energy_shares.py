"""Energy of a run by part, action, die, operation, launch and kernel line: tables that add up to the total.

Dynamic energy belongs to rows of the program. What no kernel issued, such as a message of a launch, has no line and no launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from linecache import getline
from typing import TYPE_CHECKING, Any

from kernbench.energy.row_groups import sum_by_group, sum_by_line, sum_by_operation
from kernbench.library import show_path
from kernbench.runs.path_shares import launch_of_row, launch_of_thread

if TYPE_CHECKING:
    from kernbench.energy.row_energies import RowEnergies
    from kernbench.energy.run_energy import RunEnergy
    from kernbench.host.device.launch import Launch


@dataclass(frozen=True, slots=True)
class EnergyShares:
    """The dynamic energy of a run by what did it, in whole attojoules; each is the whole."""

    operations: tuple[tuple[str, str, int], ...]  # name, kind, aJ
    lines: tuple[tuple[str, str, int], ...]  # file:line, "" for none; the text of the line; aJ
    launches: tuple[tuple[str, str, int, int], ...]  # kernel, line of the host, number of launches, aJ; "" for none

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "operations": [{"operation": name, "kind": kind, "dynamic_aj": aj} for name, kind, aj in self.operations],
            "lines": [{"place": place, "text": text, "dynamic_aj": aj} for place, text, aj in self.lines],
            "launches": [
                {"kernel": kernel, "place": place, "launches": count, "dynamic_aj": aj}
                for kernel, place, count, aj in self.launches
            ],
        }


def share_energy(energy: RunEnergy, launches: Sequence[Launch]) -> EnergyShares:
    """The shares of a run's dynamic energy."""
    operations = tuple((*tag, aj) for tag, aj in sum_by_operation(energy.rows).items())
    lines = tuple(
        (f"{show_path(file)}:{line}" if line else "", getline(file, line).strip(), aj)
        for (file, line), aj in sum_by_line(energy.rows).items()
    )
    return EnergyShares(operations, lines, _by_launch(energy, launches))


def _by_launch(energy: RunEnergy, launches: Sequence[Launch]) -> tuple[tuple[str, str, int, int], ...]:
    """The launches of each kernel at each line of the host, in the order of the first of each; last what is of none."""
    groups = dict[tuple[str, str], list[int]]()
    for at, launch in enumerate(launches):
        groups.setdefault((launch.message.kernel_ref, launch.place), []).append(at)
    each = sum_by_launch(energy.rows, launches)
    found = [(*name, len(group), sum(each[at] for at in group)) for name, group in groups.items()]
    rest = energy.dynamic_aj - sum(each)
    return (*found, ("", "", 0, rest)) if rest else tuple(found)


def sum_by_launch(rows: RowEnergies, launches: Sequence[Launch]) -> list[int]:
    """aJ of what the PEs of each launch did."""
    of_row = launch_of_row(rows.program, launch_of_thread(rows.program, launches))
    return sum_by_group(rows, of_row, len(launches))
