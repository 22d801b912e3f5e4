"""What the host says to the device, and what it refuses to say.

Addresses are physical and every piece of a tensor names its place: nothing on the device decodes an address to find out
where a command must go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernbench.errors import InputError


@dataclass(frozen=True, slots=True)
class Shard:
    """One copy of one part of a tensor. `node` is the memory that holds it, `pa` the offset in it."""

    sip: int | None
    cube: int | None
    pe: int | None
    node: int
    pa: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor as a launch carries it; the kernel gets `va_base`."""

    name: str
    va_base: int
    shards: tuple[Shard, ...]


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """Start a kernel on PEs of one SIP, all at one instant. `args` are TensorArgs and plain values."""

    kernel: str
    args: tuple[Any, ...]
    sip: int
    target_cubes: tuple[int, ...]
    target_pes: tuple[int, ...]  # in each of the cubes

    def __post_init__(self) -> None:
        for arg in self.args:
            for shard in arg.shards if isinstance(arg, TensorArg) else ():
                _check_placed(shard, f"launch of {self.kernel!r}: tensor {arg.name!r}")
                if shard.sip != self.sip:
                    raise InputError(
                        f"launch of {self.kernel!r} on sip{self.sip} got tensor {arg.name!r}, which is on sip{shard.sip}; "
                        f"make the tensor and launch under the same torch.device(...)"
                    )


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """Bytes from the host to one shard."""

    tensor: str
    shard: Shard

    def __post_init__(self) -> None:
        _check_placed(self.shard, f"{type(self).__name__} of tensor {self.tensor!r}")


@dataclass(frozen=True, slots=True)
class MemoryRead(MemoryWrite):
    """The bytes of one shard to the host."""


def _check_placed(shard: Shard, what: str) -> None:
    missing = [axis for axis in ("sip", "cube", "pe") if getattr(shard, axis) is None]
    if missing:
        raise InputError(f"{what} has a shard without {', '.join(missing)}; every shard names its sip, cube, pe")
