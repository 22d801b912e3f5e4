"""Advice on an explained run: a sentence where one is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.oplog.utilisation import OCCUPIED

if TYPE_CHECKING:
    from kernbench.runs.explanation import Usage
    from kernbench.runs.roofline import Roofline
    from kernbench.runs.what_if import WhatIf

OCCUPIED_SHARE = 0.9  # of the time: a channel that is taken for so long holds the kernel up
IDLE_SHARE = 0.75  # of the time: what is busy for no more than this is not what holds it up
REACHED_SHARE = 0.9  # of the roofline
_WAYS = {"dma_read": ("read", "load operands before they are needed"), "dma_write": ("write", "store in larger pieces")}


def list_advice(usage: Sequence[Usage], roofline: Roofline | None, what_if: WhatIf | None) -> list[str]:
    """Sentences on what holds a run up, and what would help."""
    found: list[str] = []
    working = max((one.most for one in usage if one.kind not in OCCUPIED), default=0.0)
    for one in usage:
        if one.kind in OCCUPIED and one.most >= OCCUPIED_SHARE and working <= IDLE_SHARE:
            way, instead = _WAYS[one.kind]
            found.append(
                f"latency-bound: {one.busiest} is taken {one.most:.0%} of the time, and nothing that works is busy more than "
                f"{working:.0%}, because transfers wait for each other: {instead}, or raise pe_dma.{way}_channels"
            )
    if roofline is not None and roofline.share >= REACHED_SHARE:
        even = ", or work that is spread evenly over the PEs" if roofline.is_uneven else ""
        found.append(
            f"{roofline.share:.0%} of the roofline is reached: only less work for {roofline.bound}, or faster ones{even}, can "
            "help much"
        )
    best = None if what_if is None else what_if.best
    if best is not None and best.name:
        found.append(f"{best.name} twice as fast or large saves {-best.change:.0%}")
    elif what_if is not None and best is not None and len(best.fields) > 1:
        alone = max((-one.change for one in what_if.alternatives if len(one.fields) == 1), default=0.0)
        names = ", ".join(best.fields)
        found.append(
            f"several fields bind together: {names} twice as fast save {-best.change:.0%}, one field at most {alone:.0%}"
        )
    return found
