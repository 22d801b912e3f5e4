"""The symbols of the parts of a `tensix` machine."""

from __future__ import annotations

from kernbench.machine.symbols import ROUTER, Caption, Role, Symbol

SYMBOLS: dict[str | tuple[str, str], Symbol] = {
    "worker": Symbol("Tensix core", Role.COMPUTE, 48, 24, (Caption("{:g} GHz", ("tensix_core.clock_ghz",)),)),
    "dram": Symbol("port of a DRAM controller", Role.MEMORY, 48, 24),
    "ethernet": Symbol("Ethernet", Role.PORT, 48, 24),
    "router": ROUTER,
}
