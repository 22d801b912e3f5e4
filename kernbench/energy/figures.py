"""The figures of runs in joules, watts, mm² and dollars, by the names of `RunResult` and of the columns of sweeps.

They are of one program on machines that differ in rates: its dynamic energy is the same on all of them, areas go with rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.energy.bill import find_price
from kernbench.energy.row_energies import RowEnergies
from kernbench.energy.run_energy import is_priced
from kernbench.energy.static import Instances, count_draws, mean_w, static_aj
from kernbench.units import AJ_PER_J

if TYPE_CHECKING:
    from kernbench.program.program import Program

EXACT = ("dynamic_aj", "static_aj", "static_upper_aj", "no_figures")
MEASURED = ("energy_j", "dynamic_j", "static_j", "power_w")
OF_MACHINE = ("area_mm2", "cost_usd")
_KEPT = "prices by rates"


class _Priced(NamedTuple):
    """A machine with some rates."""

    draws: Mapping[int, int]  # nW, and how many draw it
    area_mm2: float | None
    cost_usd: float | None


class EnergyFigures:
    """The figures of the runs of a program."""

    def __init__(self, program: Program) -> None:
        machine = self._machine = program.machine
        self.rates = [field for field in machine.prices.rates if field in machine.figures]
        self._priced = is_priced(machine)
        if self._priced:
            rows = RowEnergies(program)
            self._dynamic_aj, self._missing = rows.total_aj(), ", ".join(rows.missing()) or None

    def of_run(
        self, makespan_fs: int, upper_fs: int | None = None, values: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """The figures of a run that took so long; with `upper_fs` the times are bounds. `values`: fields that differ.

        Those of the energy are None on a machine without prices.
        """
        found = self._price(values or {})
        return {**self._energy(found, makespan_fs, upper_fs), **self._machine_figures(found)}

    def _energy(self, found: _Priced, makespan_fs: int, upper_fs: int | None) -> dict[str, Any]:
        if not self._priced:
            return dict.fromkeys((*EXACT, *MEASURED))
        static, upper = (None if fs is None else static_aj(found.draws, fs) for fs in (makespan_fs, upper_fs))
        exact = dict(zip(EXACT, (self._dynamic_aj, static, upper, self._missing), strict=True))
        if self._missing or upper is not None or static is None:
            return {**exact, **dict.fromkeys(MEASURED)}
        total = self._dynamic_aj + static
        joules = (aj / AJ_PER_J for aj in (total, self._dynamic_aj, static))
        power_w = mean_w(total, makespan_fs) if makespan_fs else None
        return {**exact, **dict(zip(MEASURED, (*joules, power_w), strict=True))}

    def of_machine(self, values: Mapping[str, float]) -> dict[str, float | None]:
        """The area and the price of the machine where fields have these values."""
        return self._machine_figures(self._price(values))

    def _machine_figures(self, found: _Priced) -> dict[str, float | None]:
        return dict(zip(OF_MACHINE, (found.area_mm2, found.cost_usd), strict=True))

    def _price(self, values: Mapping[str, float]) -> _Priced:
        """What the machine draws and costs where rates have these values; kept for all machines that differ in rates."""
        rates = {field: float(values.get(field, self._machine.figures.get(field, 0))) for field in self.rates}
        known: dict[tuple[float, ...], _Priced] = self._machine.memo.setdefault(_KEPT, {})
        key = tuple(rates.values())
        if key not in known:
            instances, prices = Instances.of(self._machine), self._machine.prices.with_rates(rates)
            draws = instances.draws(prices)
            known[key] = _Priced(count_draws(draws), *find_price(instances, prices, draws))
        return known[key]
