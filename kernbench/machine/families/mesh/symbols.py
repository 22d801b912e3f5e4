"""The symbols of the parts of a `mesh` machine."""

from __future__ import annotations

from kernbench.machine.symbols import ROUTER, Role, Symbol

SYMBOLS: dict[str | tuple[str, str], Symbol] = {
    "endpoint": Symbol("endpoint with its router", Role.NETWORK, 64, 24, size=10),
    "router": ROUTER,
}
