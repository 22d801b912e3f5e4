"""What files ask of a device: figures of the machine that runs their launches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class DeviceFacts(NamedTuple):
    """A SIP as a file sees it: PEs are its multiprocessors, the scratch of one is their shared memory."""

    name: str = "KernBench"
    pes: int = 8
    scratch_bytes: int = 1 << 20
    memory_bytes: int = 1 << 34


REGISTERS = 1 << 16  # of a multiprocessor, for files that divide them among programs
WARP = 32
_USUAL = DeviceFacts()
_facts: ContextVar[DeviceFacts] = ContextVar("device_facts", default=_USUAL)


def device_facts() -> DeviceFacts:
    """The figures of the device in use; without a machine some usual ones."""
    return _facts.get()


@contextmanager
def describing(facts: DeviceFacts) -> Iterator[None]:
    """Answer with these figures in the block."""
    token = _facts.set(facts)
    try:
        yield
    finally:
        _facts.reset(token)
