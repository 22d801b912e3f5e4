"""Ranks that do the same between two collectives are simulated once, on the SIP of the first of them.

The launches of all ranks are held until all have come to a collective. Ranks whose launches since the one before are the same
are one class, and the first of them launches for all. Then the hosts of all SIPs meet, the collective is launched on all SIPs,
and the hosts meet again: so all ranks begin it at one time, and what follows it as well. Meeting takes no time.

This is exact because a SIP has its own host thread, CPUs, PEs, memories and links, and only collectives use what is between
SIPs. Launches are the same if kernels, PEs and plain arguments are, and tensors lie at the same addresses of their SIPs.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kernbench.host.messages import KernelLaunch, TensorArg
from kernbench.machine.address import SIP_SHIFT

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.host.torch.runtime import Runtime


@dataclass(frozen=True, slots=True)
class _Held:
    """A launch that waits for the other ranks."""

    message: KernelLaunch
    kernel: Callable[..., Any]
    args: tuple[Any, ...]  # which keep its tensors

    def key(self) -> tuple[Any, ...]:
        """What makes launches on two SIPs take the same time."""
        message = self.message
        of_kernel = (message.kernel_ref, self.kernel, message.target_cubes, message.target_pe, message.target_start_ns)
        return (*of_kernel, _of_sip(message.args, message.sip << SIP_SHIFT))


class EqualRanks:
    """The launches of the ranks of a run. With `every`, ranks are taken to be different, and all are simulated."""

    def __init__(self, runtime: Runtime, *, every: bool = False) -> None:
        self._runtime, self._every = runtime, every
        self._held: dict[int, list[_Held]] = {sip: [] for sip in runtime.sips}
        self.launches: dict[int, list[Launch]] = {
            sip: [] for sip in runtime.sips
        }  # by SIP: its own, or those of its class
        self.met: list[int] = []  # the numbers of launches of each rank before which the hosts met

    def hold(self, message: KernelLaunch, kernel: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Keep a launch until the ranks come together."""
        self._held[message.sip].append(_Held(message, kernel, args))

    def count(self, sip: int) -> int:
        """The launches of a SIP so far, held ones among them."""
        return len(self.launches[sip]) + len(self._held[sip])

    def issue(self) -> None:
        """Launch what is held, once for each class of ranks, and let the hosts meet. Errors: as `Runtime.launch`."""
        leaders: list[tuple[Any, list[Launch]]] = []  # what the first rank of each class does, and its launches
        for sip, held in self._held.items():
            does = sip if self._every else [one.key() for one in held]
            found = next((launches for others, launches in leaders if others == does), None)
            if found is None:
                found = [self._runtime.launch(one.message, one.kernel) for one in held]
                leaders.append((does, found))
            self.launches[sip] += found
        self._held = {sip: [] for sip in self._held}
        self._meet()

    def issue_some(self, sip: int, kernels: Container[str]) -> list[Launch]:
        """Launch what is held of one SIP and of some kernels; the rest is dropped. Errors: as `Runtime.launch`."""
        held, self._held[sip] = self._held[sip], []
        return [self._runtime.launch(one.message, one.kernel) for one in held if one.message.kernel_ref in kernels]

    def note(self, launches: list[Launch]) -> None:
        """Note the launches of a collective, and let the hosts meet behind it."""
        for launch in launches:
            self.launches[launch.message.sip].append(launch)
        self._meet()

    def _meet(self) -> None:
        sips = self._runtime.sips
        self.met.append(len(self.launches[sips[0]]))
        self._runtime.device.meet(sips)


def _of_sip(arg: Any, base: int) -> Any:
    """An argument with addresses as its SIP sees them, whose first physical address is `base`."""
    if isinstance(arg, TensorArg):
        where = arg.va_base - base if arg.shards and arg.va_base == arg.shards[0].pa else arg.va_base
        return TensorArg, where, tuple((one.cube, one.pe, one.pa - base, one.nbytes) for one in arg.shards)
    if type(arg) is tuple:
        return tuple(_of_sip(item, base) for item in cast("tuple[Any, ...]", arg))
    return type(arg), arg
