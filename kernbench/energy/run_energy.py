"""The energy of a run: dynamic of what was done, static of how long it took, both exact in attojoules.

Dynamic energy follows from the rows of the program alone. So it is the same in every mode, live and recorded, whatever waits.
Static energy is the static power times the makespan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernbench.energy.byte_prices import WIRE
from kernbench.energy.power import BINS, PowerOverTime, find_power
from kernbench.energy.row_energies import RowEnergies
from kernbench.energy.static import Draw, Instances, count_draws, energy_aj, mean_w, static_aj
from kernbench.energy.uses import ActionEnergy, Uses
from kernbench.errors import InputError
from kernbench.machine.dies import find_dies

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program


@dataclass(frozen=True, repr=False)
class RunEnergy:
    """The energy of a finished run, or of one whose time is only bounded."""

    program: Program
    makespan_fs: int
    upper_fs: int | None = None  # mode analytic: the makespan is at least `makespan_fs` and at most this
    times: Times | None = field(default=None, repr=False)  # of the rows; None in mode analytic
    rows: RowEnergies = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", RowEnergies(self.program))

    @property
    def machine(self) -> Machine:
        """The machine of the run."""
        return self.program.machine

    @cached_property
    def uses(self) -> Uses:
        """What was done where."""
        return Uses.of(self.rows)

    @cached_property
    def draws(self) -> list[Draw]:
        """The static power of the machine."""
        return Instances.of(self.machine).draws(self.machine.prices)

    @cached_property
    def dynamic_aj(self) -> int:
        """The dynamic energy."""
        return self.rows.total_aj()

    @cached_property
    def static_aj(self) -> int:
        """The static energy over the makespan."""
        return static_aj(count_draws(self.draws), self.makespan_fs)

    @property
    def static_upper_aj(self) -> int | None:
        """The static energy over the upper bound of the makespan, if there is one."""
        return None if self.upper_fs is None else static_aj(count_draws(self.draws), self.upper_fs)

    @property
    def total_aj(self) -> int:
        """Both."""
        return self.dynamic_aj + self.static_aj

    @property
    def mean_w(self) -> float:
        """The mean power over the makespan; 0 for no time."""
        return mean_w(self.total_aj, self.makespan_fs)

    def power(self, most_bins: int = BINS) -> PowerOverTime:
        """Power over time in bins, `most_bins` or fewer. Errors: InputError in mode analytic, for want of events."""
        if self.times is None:
            raise InputError("analytic mode has no events, so it keeps no power over time; use mode hybrid")
        return find_power(self, self.times, most_bins)

    @property
    def missing(self) -> list[str]:
        """The fields of sheets that lack a figure that this run needed."""
        return self.rows.missing()

    def by_action(self) -> list[ActionEnergy]:
        """Dynamic energy by part and action, the most first."""
        return self.uses.by_action()

    def by_part(self) -> dict[str, tuple[int, int]]:
        """Dynamic and static aJ of each part, wires under "technology" and the rests of dies under "" among them."""
        found: dict[str, list[int]] = {}
        for one in self.by_action():
            found.setdefault(one.part, [0, 0])[0] += one.energy_aj or 0
        for draw in self.draws:
            found.setdefault(draw.part, [0, 0])[1] += draw.count * energy_aj(draw.nw, self.makespan_fs)
        return {part: (dynamic, static) for part, (dynamic, static) in found.items() if dynamic or static}

    def list_savings(self) -> list[tuple[str, int]]:
        """What half of each price would save, by its field, the most first; static power among them."""
        found = [(_field(one), (one.energy_aj or 0) // 2) for one in self.by_action()]
        found.append(("static power", self.static_aj // 2))
        return sorted((one for one in found if one[1]), key=lambda one: (-one[1], one[0]))

    def by_die(self) -> dict[str, tuple[int, int]]:
        """Dynamic and static aJ of each die, and of "board"; a link belongs to the node that it leaves."""
        machine, dies = self.machine, find_dies(self.machine)
        names, of_node = [*(die.name for die in dies.dies), "board"], dies.of_node.tolist()
        source, found = machine.edge_src.tolist(), {name: [0, 0] for name in names}
        for place, energy in self.uses.by_place().items():
            node = place if place < machine.node_count else source[place - machine.node_count]
            found[names[of_node[node]]][0] += energy
        for draw in self.draws:
            name = "board" if draw.die is None else draw.die.name
            found[name][1] += draw.count * energy_aj(draw.nw, self.makespan_fs)
        return {name: (dynamic, static) for name, (dynamic, static) in found.items() if dynamic or static}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: energies are whole attojoules."""
        return {
            "dynamic_aj": self.dynamic_aj,
            "static_aj": self.static_aj,
            "total_aj": self.total_aj,
            "upper_aj": None if self.static_upper_aj is None else self.dynamic_aj + self.static_upper_aj,
            "mean_w": self.mean_w,
            "actions": [one._asdict() for one in self.by_action()],
            "parts": [{"part": name, "dynamic_aj": of[0], "static_aj": of[1]} for name, of in self.by_part().items()],
            "dies": [{"die": name, "dynamic_aj": of[0], "static_aj": of[1]} for name, of in self.by_die().items()],
            "missing": self.missing,
        }


def _field(one: ActionEnergy) -> str:
    return "technology.wire_pj_mm" if one.action == WIRE else f"{one.part}.energy.{one.action}_pj"


def check_priced(machine: Machine) -> None:
    """Check that a machine has prices. Errors: InputError."""
    if not is_priced(machine):
        raise InputError(
            f"machine {machine.name} has no prices; give its sheets an energy block, as models/README.md says"
        )


def is_priced(machine: Machine) -> bool:
    """Whether any sheet of a machine has a price."""
    return any(price is not None for part in machine.prices.parts.values() for price in part.energy.values())
