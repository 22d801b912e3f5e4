"""What flits waited for in a network with credits, by the link that they wanted (docs/networks.md, "Waiting by link").

Each time is summed over flits: two that wait together count twice. What begins at a source is summed over its transfers,
and over the packets that a memory sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernbench.units import FS_PER_NS
from kernels_jit.layout.records import CARRY_SHIFT

# The causes in the order in which they are shown.
CAUSES = (
    "moves",
    "pipeline",
    "queueing",
    "no_credit",
    "no_channel",
    "lost_channel",
    "lost_switch",
    "link_busy",
    "memory",
    "source",
)
_WORK = ("moves", "pipeline")  # what a flit alone spends too


@dataclass(frozen=True, slots=True)
class NetworkWaits:
    """The time that flits spent in the buffers of each link's sender, by cause; and before links and at memories."""

    links: tuple[str, ...]
    fs: Mapping[str, np.ndarray]  # object[link] of each of `CAUSES`: integers, which may need more than 64 bits

    @classmethod
    def of(cls, links: tuple[str, ...], waits: np.ndarray) -> NetworkWaits:
        """The times of WAITS[link] of the loop's memory (`kernels_jit.layout.records`)."""
        found: dict[str, np.ndarray] = {}
        for cause in CAUSES:
            first, carried = waits[cause].astype(object), waits[f"{cause}_carried"].astype(object)
            found[cause] = first + (carried << CARRY_SHIFT)
        return cls(links, found)

    @property
    def waiting_fs(self) -> np.ndarray:
        """object[link] of all causes but those that a flit alone has too."""
        return np.stack([self.fs[cause] for cause in CAUSES if cause not in _WORK]).sum(axis=0)

    @property
    def total_ns(self) -> dict[str, float]:
        """Each cause over all links."""
        return {cause: int(self.fs[cause].sum()) / FS_PER_NS for cause in CAUSES}

    def list_links(self) -> list[dict[str, Any]]:
        """The links for which anything waited, the longest first: `link`, `waiting_ns`, and `<cause>_ns` of each cause."""
        waiting = self.waiting_fs
        order = [int(at) for at in np.argsort(-waiting, kind="stable") if waiting[at] > 0]
        return [
            {
                "link": self.links[at],
                "waiting_ns": int(waiting[at]) / FS_PER_NS,
                **{f"{cause}_ns": int(self.fs[cause][at]) / FS_PER_NS for cause in CAUSES},
            }
            for at in order
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: `total_ns` by cause, and `links`."""
        return {"total_ns": self.total_ns, "links": self.list_links()}
