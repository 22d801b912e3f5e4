"""Hops: for each station of a transfer's route, the port that its flits enter next."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inner, jit
from kernels_jit.compile.pointers import place_of, pointer_to
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    HOP_WORDS,
    PORT_WORDS,
    STATION_WORDS,
    TRANSFER_WORDS,
    hop_at,
    state_at,
    station_at,
    step_at,
    transfer_at,
)
from kernels_jit.layout.records import ENDS, GATED, STRIPED

_NONE = codes.NONE


@inner
def hop_of(m, transfer, number):
    """The place of a transfer's hop for a step of its route."""
    return place_of(m, transfer) + TRANSFER_WORDS + (number - transfer.first_step) * HOP_WORDS


@inner
def step_of(m, place):
    """The number of a hop's step."""
    owner = hop_at(m, place).transfer
    return transfer_at(m, owner).first_step + (place - owner - TRANSFER_WORDS) // HOP_WORDS


@inner
def set_hops(m, transfer):
    """Write for each station of a transfer's route which port comes after it."""
    ports = state_at(m, 0).ports
    for number in range(transfer.first_step, transfer.end_step):
        hop, step, onward = hop_at(m, hop_of(m, transfer, number)), step_at(m, number), step_at(m, number + 1)
        if CHECKED:
            ends = number == transfer.first_step or number + 1 == transfer.end_step
            assert step.stripes == 1 or ends, "a striped memory is in the middle of a route"
        striped = STRIPED if max(step.stripes, onward.stripes) > 1 else 0
        if onward.port == _NONE or number + 1 == transfer.end_step:
            hop.next = ENDS | striped
            continue
        if CHECKED:
            assert onward.overhead_fs == 0 or step.stripes == 1, "a node with an overhead is behind a striped memory"
            check_channels(m, step)
            check_channels(m, onward)
        gated = GATED if onward.overhead_fs > 0 else 0
        hop.next = ports + onward.port * PORT_WORDS | gated | striped


@inner
def check_channels(m, step):
    """Assert that the channels of a striped memory have the same times."""
    first = station_at(m, step.station)
    for stripe in range(step.stripes):
        channel = station_at(m, step.station + stripe * STATION_WORDS)
        assert channel.full_fs == first.full_fs, "the channels of a memory have different rates"
        assert channel.quantum == first.quantum, "the channels of a memory have different bursts"
        assert channel.propagation_fs == first.propagation_fs, "the channels of a memory are at different distances"


@jit
def renew_hops(words: np.ndarray, start: int, rows: int) -> None:
    """Write new ports for those transfers of a block that are in the network, because ports have moved.

    Arguments: int64[word] memory, place of the first transfer, number of transfers.
    """
    m = pointer_to(words)
    size = transfer_at(m, start).words
    for row in range(rows):
        transfer = transfer_at(m, start + row * size)
        if transfer.from_step != _NONE:
            set_hops(m, transfer)
