"""Messages from the host to the device, and the response.

Addresses are physical and every shard of a tensor names its PE, so nothing on the device decodes an address to route a
command. A message that cannot be carried out that way is refused when it is made, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from kernbench.errors import InputError, KernBenchError
from kernbench.machine.families.sip.places import pe_path, sip_path


@dataclass(frozen=True, slots=True)
class Shard:
    """One copy of one part of a tensor: the PE that holds it, its physical address, its bytes."""

    sip: int | None
    cube: int | None
    pe: int | None
    pa: int
    nbytes: int


class MapEntry(NamedTuple):
    """A shard, and the address at which kernels see it."""

    va: int
    shard: Shard


Entries = tuple[MapEntry, ...]
Targets = Mapping[
    int, Mapping[int, Entries]
]  # by cube, by PE: the entries of each; PEs with the same entries share one object


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor as a launch carries it; `va_base` is the address at which it begins for kernels."""

    name: str
    va_base: int
    shards: tuple[Shard, ...]


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """Start a kernel on PEs of one SIP, all at one instant. `args` are TensorArgs and plain values.

    That instant is the arrival at the last of them, or `target_start_ns` of simulated time if that is later.
    """

    kernel_ref: str
    args: tuple[Any, ...]
    sip: int
    target_cubes: tuple[int, ...]
    target_pe: tuple[int, ...]  # in each of the cubes
    target_start_ns: float | None = None

    def __post_init__(self) -> None:
        what = f"launch of {self.kernel_ref!r}"
        for name in ("target_cubes", "target_pe"):
            targets = getattr(self, name)
            if not targets or len(set(targets)) < len(targets):
                raise InputError(f"{what} has {name} {targets!r}; give each target once, one at least")
        if self.target_start_ns is not None and not 0 <= self.target_start_ns < 1e9:
            raise InputError(f"{what} has target_start_ns {self.target_start_ns!r}; give 0 or more, below 1e9")
        for arg in self.tensors:
            self._check_tensor(arg, what)

    @property
    def tensors(self) -> tuple[TensorArg, ...]:
        """The tensors among the arguments, and in tuples of them."""
        return tuple(_tensors_in(self.args))

    def _check_tensor(self, arg: TensorArg, what: str) -> None:
        for shard in arg.shards:
            _check_shard(shard, f"{what}: tensor {arg.name!r}")
            if shard.sip != self.sip:
                raise InputError(
                    f"{what} on {sip_path(self.sip)} got tensor {arg.name!r}, which is on {sip_path(shard.sip)}; "
                    f"make the tensor and launch under the same torch.device(...)"
                )


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """Bytes from the host to one shard."""

    tensor: str
    shard: Shard

    def __post_init__(self) -> None:
        _check_shard(self.shard, f"{type(self).__name__} of tensor {self.tensor!r}")


@dataclass(frozen=True, slots=True)
class MemoryRead(MemoryWrite):
    """The bytes of one shard to the host."""


@dataclass(frozen=True, slots=True)
class PeDma:
    """Let the DMA of a PE move the bytes of a shard to its TCM, or from there with `write`; no kernel takes part."""

    sip: int
    cube: int
    pe: int
    shard: Shard
    write: bool = False

    def __post_init__(self) -> None:
        _check_shard(self.shard, f"PeDma of {pe_path(self.sip, self.cube, self.pe)}")


@dataclass(frozen=True, slots=True)
class MmuMap:
    """Map the MMUs of one SIP to the shards of a tensor; of mappings that overlap the later one wins."""

    tensor: str
    sip: int
    targets: Targets

    def __post_init__(self) -> None:
        for entries in distinct(self.targets):
            for entry in entries:
                _check_shard(entry.shard, f"{type(self).__name__} of tensor {self.tensor!r}")


@dataclass(frozen=True, slots=True)
class MmuUnmap(MmuMap):
    """Unmap a tensor in the MMUs of one SIP."""


Message = KernelLaunch | MemoryWrite | MemoryRead | PeDma | MmuMap | MmuUnmap


@dataclass(frozen=True, slots=True)
class Response:
    """The response of the device. `error_code` is a word for programs, `error_message` a sentence for people."""

    ok: bool
    error_code: str | None = None
    error_message: str | None = None

    @classmethod
    def of(cls, error: KernBenchError) -> Response:
        """The response that carries an error to the host; its code is that of the first cause."""
        first: BaseException = error
        while isinstance(first.__cause__, KernBenchError):
            first = first.__cause__
        return cls(False, first.code, str(error))


def _tensors_in(args: tuple[Any, ...]) -> Iterable[TensorArg]:
    for arg in args:
        if isinstance(arg, TensorArg):
            yield arg
        elif type(arg) is tuple:
            yield from _tensors_in(cast("tuple[Any, ...]", arg))


def distinct(targets: Targets) -> Iterable[Entries]:
    """The different entries that PEs get, each once."""
    return {id(entries): entries for pes in targets.values() for entries in pes.values()}.values()


def _check_shard(shard: Shard, what: str) -> None:
    if shard.sip is None or shard.cube is None or shard.pe is None:
        missing = [axis for axis in ("sip", "cube", "pe") if getattr(shard, axis) is None]
        raise InputError(f"{what} has a shard without {', '.join(missing)}; every shard names its sip, cube, pe")
    if shard.pa < 0 or shard.nbytes < 1:
        raise InputError(
            f"{what} has a shard of {shard.nbytes} bytes at {shard.pa:#x}; give a physical address and 1 byte or more"
        )
