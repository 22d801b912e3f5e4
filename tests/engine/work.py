"""The work of a random program: a bound on the flit hops of its transfers, with which the interpreter's time goes."""

from __future__ import annotations

from kernbench.machine.machine import Machine

MOST_HOPS = 100_000  # of flits in queues without a limit: a quarter of a second of the interpreter
MOST_HOPS_WITH_CREDITS = 6_000  # in about the same time: it goes through routers with finite buffers cycle by cycle


class Work:
    """What is left of the flit hops of a program; sizes that are drawn are cut to it.

    A cut size keeps the bytes of its last flit and is never nothing: there are as many transfers as without a bound, of the
    same kinds.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.left = MOST_HOPS_WITH_CREDITS if machine.flow_control else MOST_HOPS

    def cut(self, route: int, nbytes: int, times: int = 1) -> int:
        """A size of which as many transfers as given, one unless more are said, are within what is left of the work."""
        flit_bytes = self._machine.flit_bytes
        whole, last = divmod(nbytes, flit_bytes)
        fits = max(0, self.left) // (times * self._hops(route))
        return nbytes if whole <= fits else fits * flit_bytes + last or flit_bytes

    def spend(self, route: int, nbytes: int) -> None:
        """Take a transfer from what is left."""
        self.left -= -(-nbytes // self._machine.flit_bytes) * self._hops(route)

    def draw(self, route: int, nbytes: int) -> int:
        """The size of a transfer that is done once: cut, and taken from what is left."""
        size = self.cut(route, nbytes)
        self.spend(route, size)
        return size

    def _hops(self, route: int) -> int:
        return max(1, len(self._machine.routing.edges(route)))
