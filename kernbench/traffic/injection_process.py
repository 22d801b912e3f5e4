"""The injection process of a pattern: Bernoulli traffic.

In each flit time each node begins a packet with a fixed probability, whatever the network does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.traffic.flows import Flows
from kernbench.traffic.patterns import find_pattern, node_names
from kernbench.traffic.zero_load_latency import flit_time_fs

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

PACKET_FLITS, WINDOW = 4, 10_000  # of those that say nothing else
MOST_PACKET_FLITS = 1_000_000
MOST_WINDOW = 1_000_000_000
MOST_PACKETS = 5_000_000  # of one load: about 2 GB of flows and rows


@dataclass(frozen=True, slots=True)
class InjectionProcess:
    """Packets of a pattern over half a window of warm-up, the window, and half a window more that keeps the network loaded.

    The window is in flit times: the time of one flit on the link from an endpoint. Errors: InputError for lengths below one.
    """

    pattern: str
    packet_flits: int = PACKET_FLITS
    seed: int = 0
    window: int = WINDOW

    def __post_init__(self) -> None:
        if self.packet_flits < 1 or self.window < 2:
            raise InputError(
                f"got packets of {self.packet_flits} flits and a window of {self.window} flit times, "
                "expected at least 1 and 2"
            )
        if self.packet_flits > MOST_PACKET_FLITS or self.window > MOST_WINDOW:
            raise InputError(
                f"got packets of {self.packet_flits:,} flits and a window of {self.window:,} flit times, "
                f"expected at most {MOST_PACKET_FLITS:,} and {MOST_WINDOW:,}"
            )

    @property
    def warm_up(self) -> int:
        """Flit times before the window."""
        return self.window // 2

    @property
    def flit_times(self) -> int:
        """Flit times in all: warm-up, window and the rest."""
        return self.warm_up + self.window + self.warm_up

    def packets(self, machine: Machine, load: float) -> Flows:
        """The packets of a load, a fraction of what an endpoint can inject; one flow a packet.

        The same process and load give the same packets on any mesh of the same size. Errors: InputError for a load outside
        (0, 1], for more packets than fit, and as `find_pattern`.
        """
        check_load(load)
        partners, places = find_pattern(self.pattern, machine), machine.places
        assert isinstance(places, MeshPlaces)
        slots = places.w * places.h * self.flit_times
        expected = load / self.packet_flits * slots
        if expected > MOST_PACKETS:
            raise InputError(
                f"load {load:g} on {machine.name} makes about {expected:,.0f} packets, more than {MOST_PACKETS:,} at once; "
                f"give a window shorter than {self.window} flit times"
            )
        rng = np.random.default_rng([self.seed, round(load * 1e9), self.packet_flits])
        chosen = _bernoulli(rng, load / self.packet_flits, slots)
        src, start = chosen // self.flit_times, chosen % self.flit_times
        return Flows(
            names=node_names(machine),
            src=src,
            dst=partners(src, places.w, places.h, rng),
            nbytes=np.full(len(src), self.packet_flits * machine.flit_bytes),
            start_fs=start * flit_time_fs(machine),
            read=np.zeros(len(src), bool),
            where=lambda packet: f"packet {packet} of pattern {self.pattern}",
        )


def check_load(load: float) -> None:
    """Errors: InputError for a load outside (0, 1]."""
    if not 0 < load <= 1:
        raise InputError(f"got load {load:g}, expected more than 0 and at most 1, the whole bandwidth of an endpoint")


def _bernoulli(rng: np.random.Generator, probability: float, trials: int) -> np.ndarray:
    """int64[n] the trials that succeed, ascending; the gaps between them are drawn."""
    found = [np.zeros(0, np.int64)]
    at = -1
    while probability > 0 and at < trials:  # the least of loads, for packets of several flits, is a probability of 0
        gaps = rng.geometric(probability, int(probability * trials) + 64)
        gaps = np.where((gaps < 1) | (gaps > trials), trials + 1, gaps)  # numpy's are negative beyond what it can count
        found.append(at + np.cumsum(gaps))
        at = int(found[-1][-1])
    successes = np.concatenate(found)
    return successes[successes < trials]
