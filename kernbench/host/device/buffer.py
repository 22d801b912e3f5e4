"""A piece of one memory that is no tensor, for kernels that reach it by its physical address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.part_index import pe_path

if TYPE_CHECKING:
    from kernbench.host.device.device import Device
    from kernbench.host.messages import Shard


class Buffer:
    """Bytes of an HBM slice, an SRAM or a TCM. They are free again when it is deleted."""

    __slots__ = ("_device", "shard")

    def __init__(self, device: Device, shard: Shard) -> None:
        self._device = device
        self.shard = shard

    @property
    def nbytes(self) -> int:
        """Its size."""
        return self.shard.nbytes

    def data_ptr(self) -> int:
        """The physical address at which it begins; no model of addresses maps it, so kernels can use it in all."""
        return self.shard.pa

    @property
    def offset(self) -> int:
        """Where it begins in its memory; kernels name a TCM by it, as in `tl.recv(dst_addr=..., dst_space="tcm")`."""
        return self._device.machine.places.memory_of(self.shard.pa)[1]

    def __repr__(self) -> str:
        shard = self.shard
        return f"Buffer({self.nbytes} bytes at {shard.pa:#x}, {pe_path(shard.sip, shard.cube, shard.pe)})"

    def __del__(self) -> None:
        self._device.free(self.shard)
