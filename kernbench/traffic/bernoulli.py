"""Bernoulli traffic: in each flit time each node begins a packet with a fixed probability, whatever the network does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.mesh_places import MeshPlaces
from kernbench.traffic.alone import slot_fs
from kernbench.traffic.flows import Flows
from kernbench.traffic.patterns import find_pattern, node_names

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def send_packets(machine: Machine, pattern: str, load: float, flits: int, slots: int, seed: int) -> Flows:
    """The packets of `slots` flit times at a load, a fraction of what an endpoint can inject; one flow a packet.

    The same for the same arguments, on any machine of the same size. Errors: as `find_pattern`.
    """
    partners, senders = find_pattern(pattern, machine)
    places = machine.places
    assert isinstance(places, MeshPlaces)
    rng = np.random.default_rng([seed, round(load * 1e9), flits])
    chosen = _bernoulli(rng, load / flits, len(senders) * slots)
    src, start = senders[chosen // slots], chosen % slots
    return Flows(
        names=node_names(machine),
        src=src,
        dst=partners(src, places.w, places.h, rng),
        nbytes=np.full(len(src), flits * machine.flit_bytes),
        start_fs=start * slot_fs(machine),
        read=np.zeros(len(src), bool),
        where=lambda packet: f"packet {packet} of pattern {pattern}",
    )


def _bernoulli(rng: np.random.Generator, probability: float, trials: int) -> np.ndarray:
    """int64[n] the trials that succeed, ascending: found by the gaps between them."""
    found = [np.zeros(0, np.int64)]
    at = -1
    while at < trials:
        gaps = rng.geometric(probability, int(probability * trials) + 64)
        found.append(at + np.cumsum(gaps))
        at = int(found[-1][-1])
    successes = np.concatenate(found)
    return successes[successes < trials]
