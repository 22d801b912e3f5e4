"""Buffer: a range of one memory outside of all tensors, which kernels access by its physical address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.part_index import pe_path

if TYPE_CHECKING:
    from kernbench.host.device.device import Device
    from kernbench.host.messages import Shard


class Buffer:
    """A range of bytes of an HBM slice, an SRAM or a TCM, freed when the object is deleted."""

    __slots__ = ("_device", "shard")

    def __init__(self, device: Device, shard: Shard) -> None:
        self._device = device
        self.shard = shard

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self.shard.nbytes

    def data_ptr(self) -> int:
        """The first physical address. No address model maps it, so kernels can use it under all of them."""
        return self.shard.pa

    @property
    def offset(self) -> int:
        """The first byte in its memory; kernels address a TCM by it, as in `tl.recv(dst_addr=..., dst_space="tcm")`."""
        return self._device.machine.places.memory_of(self.shard.pa)[1]

    def __repr__(self) -> str:
        shard = self.shard
        return f"Buffer({self.nbytes} bytes at {shard.pa:#x}, {pe_path(shard.sip, shard.cube, shard.pe)})"

    def __del__(self) -> None:
        self._device.free(self.shard)
