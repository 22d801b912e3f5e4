"""The pool of transfers: one for each payload under way, or for each branch of one that goes to many destinations."""

from __future__ import annotations

from kernels_jit.compile.jit import inner
from kernels_jit.layout.access import state_at, transfer_at


@inner
def take_transfer(m):
    """Allocate a transfer and return its place. The caller has made sure of room."""
    state = state_at(m, 0)
    place = state.transfer_free
    state.transfer_free = transfer_at(m, place).next
    state.transfer_free_n -= 1
    state.in_flight += 1
    return place


@inner
def return_transfer(m, place):
    """Return a transfer to the pool, unless longer routes have come up since it was made."""
    transfer, state = transfer_at(m, place), state_at(m, 0)
    state.in_flight -= 1
    if transfer.words == state.transfer_words:
        transfer.next = state.transfer_free
        state.transfer_free = place
        state.transfer_free_n += 1
