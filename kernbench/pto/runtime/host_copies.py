"""Copies between the host and the device: what a run needs before it, and gives back after it.

Nothing else runs then, so they are a program of their own on the same machine: a call of the driver for each array, then its
bytes over the host's link to HBM, or back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.engine.session import Session
from kernbench.machine.families.ascend.places import AscendPlaces
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.program import Program

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def copy_fs(machine: Machine, sizes: Sequence[int], *, to_device: bool) -> int:
    """How long (fs) it takes to copy arrays of some sizes in bytes, one after the other."""
    places = machine.places
    assert isinstance(places, AscendPlaces)
    kind = RouteKind.WRITE if to_device else RouteKind.READ
    route = machine.routing.route(places.npu_host, places.gm_hbm, Intent.ALL, kind)
    program = Program(machine)
    thread, done = program.thread("host"), program.counter("copied")
    call = program.duration(("npu_host.overhead", 1))
    for nbytes in sizes:
        thread.delay(call)
        thread.move(route, nbytes, done=done)
        thread.wait(done, 1, take=1)
    return Session(program).run()
