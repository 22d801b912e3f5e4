"""Buffer: a range of one memory outside of all tensors, which kernels access by its physical address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.families.sip.places import pe_path

if TYPE_CHECKING:
    from kernbench.host.memory.free_memory import Pools
    from kernbench.host.messages import Shard


class Buffer:
    """A range of bytes of an HBM slice, an SRAM or a TCM, freed in its pools when the object is deleted."""

    __slots__ = ("_pools", "shard")

    def __init__(self, pools: Pools, shard: Shard) -> None:
        self._pools = pools
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
        return self._pools.places.memory_of(self.shard.pa)[1]

    def __repr__(self) -> str:
        shard = self.shard
        return f"Buffer({self.nbytes} bytes at {shard.pa:#x}, {pe_path(shard.sip, shard.cube, shard.pe)})"

    def __del__(self) -> None:
        self._pools.free(self.shard)
