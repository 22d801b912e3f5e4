"""The symbols of the parts of an `ascend` machine."""

from __future__ import annotations

from kernbench.machine.symbols import Caption, Role, Symbol


def _core(name: str) -> Symbol:
    return Symbol(name.upper(), Role.COMPUTE, 36, 20, (Caption("{:g} GHz", (f"{name}.clock_ghz",)),))


SYMBOLS: dict[str | tuple[str, str], Symbol] = {
    "noc": Symbol("network", Role.NETWORK, 64, 24),
    "l2": Symbol("L2", Role.MEMORY, 64, 24, bytes="l2.bytes"),
    "gm_hbm": Symbol("HBM", Role.MEMORY, 64, 24, bytes="gm_hbm.bytes"),
    "npu_host": Symbol("host", Role.HOST, 64, 24),
    "aicpu": Symbol("AICPU", Role.CONTROL, 52, 20),
    "aic": _core("aic"),
    "aiv": _core("aiv"),
}
