"""Costs of the work of a PE on one machine, as terms of durations, and the order of its tiles.

A standard part gives the costs of its class in `components.costs`, a drop-in those of its methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.parts.costs import GemmCosts, MathCosts, TcmCosts, TileOrder

if TYPE_CHECKING:
    import numpy as np

    from kernbench.machine.machine import DropIn, Machine

FLOP = "flop"  # a figure of 0 fs, which counts the flop of products on an engine that is dropped in

MANY_ROWS = 1 << 24

Terms = tuple[tuple[str, float], ...]  # figures of the machine, each with its amount
Plan = Callable[[int, int, int], "tuple[np.ndarray, np.ndarray]"]  # the type of `Costs.plan`

_STANDARD: dict[str, Any] = {
    "pe_gemm": GemmCosts(),
    "pe_math": MathCosts(),
    "pe_tcm": TcmCosts(),
    "tiling": TileOrder(),
}
_ENGINES = {"gemm": ("pe_gemm", "product"), "math": ("pe_math", "elements")}
_REQUEST = ("pe_fetch_store.overhead", 1)  # to the TCM


def plan_tiles(m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The same as `Costs.plan` on a machine with the standard tile-plan generator."""
    tiling = TileOrder()
    order = tiling.order(m, k, n)
    return order, tiling.reads(order)


def tile_tflops(machine: Machine, bits: int) -> float:
    """What a PE's matrix engine, whatever it is, does of the machine's own tiles."""
    return _find_tflops(machine, bits, int(machine.figures["pe.tile_m"]))


def peak_tflops(machine: Machine, bits: int) -> float:
    """What a PE's matrix engine, whatever it is, does of tiles whose rows are too many for its start and end to count."""
    return _find_tflops(machine, bits, MANY_ROWS)


def _find_tflops(machine: Machine, bits: int, m: int) -> float:
    figures = machine.figures
    k, n = (int(figures[f"pe.tile_{axis}"]) for axis in "kn")
    tile_fs = sum(figures[figure] * amount for figure, amount in machine.costs.product(m, k, n, bits))
    return 2 * m * k * n / tile_fs * 1e3


class Costs:
    """The costs of one machine's PEs, each computed once. Errors: InputError with file:line for a mistake of a drop-in."""

    def __init__(self, dropins: Mapping[str, DropIn]) -> None:
        self._dropins = dropins
        self._parts: dict[str, Any] = {}
        self._known: dict[tuple[Any, ...], Terms] = {}

    def work(self, engine: str, arguments: tuple[Any, ...]) -> Terms:
        """A job of the engine "gemm" or "math", by the arguments of `product` or `elements`."""
        terms = self._find(*_ENGINES[engine], *arguments)
        if engine == "gemm" and "pe_gemm" in self._dropins:
            return (*terms, (FLOP, 2 * prod(arguments[:3])))
        return terms

    def product(self, m: int, k: int, n: int, bits: int) -> Terms:
        """An (m, k) times (k, n) product on the matrix engine."""
        return self.work("gemm", (m, k, n, bits))

    def elements(self, function: str, count: int, bits: int) -> Terms:
        """A function of `count` elements on the element-wise engine."""
        return self.work("math", (function, count, bits))

    def plan(self, m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The order of m x k x n tiles and the reads of each token, as in `TileOrder`."""
        if "tiling" not in self._dropins:
            return plan_tiles(m, k, n)
        from kernbench.parts import ports

        return ports.find_tile_order(self._make("tiling"), (m, k, n))

    def read(self, nbytes: int) -> Terms:
        """Reading bytes from TCM."""
        return self._find("pe_tcm", "read", nbytes)

    def write(self, nbytes: int) -> Terms:
        """Writing bytes to TCM."""
        return self._find("pe_tcm", "write", nbytes)

    def fetch(self, nbytes: int) -> Terms:
        """Moving bytes from TCM to an engine: the request of the fetch-store engine, then the TCM."""
        return (_REQUEST, *self.read(nbytes))

    def store(self, nbytes: int) -> Terms:
        """Moving bytes from an engine to TCM."""
        return (_REQUEST, *self.write(nbytes))

    def _find(self, part: str, method: str, *given: Any) -> Terms:
        key = (part, method, *given)
        found = self._known.get(key)
        if found is None:
            amounts = self._ask(part, method, given)
            found = self._known[key] = tuple((f"{part}.{figure}", amount) for figure, amount in amounts.items())
        return found

    def _ask(self, part: str, method: str, given: tuple[Any, ...]) -> Mapping[str, float]:
        if part not in self._dropins:
            return getattr(_STANDARD[part], method)(*given)
        from kernbench.parts import ports

        return ports.find_cost(self._make(part), method, given)

    def _make(self, part: str) -> Any:
        """The drop-in of a part, made once."""
        if part not in self._parts:
            from kernbench.parts import dropin
            from kernbench.parts.standard import PARTS_WITH_COSTS

            own = self._dropins[part]
            self._parts[part] = dropin.make(Path(own.file), own.sha256, own.parameters, PARTS_WITH_COSTS[part])
        return self._parts[part]
