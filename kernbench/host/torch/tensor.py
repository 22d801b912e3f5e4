"""A tensor on the device, as a bench holds it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError

if TYPE_CHECKING:
    from kernbench.host.memory.initial_values import Contents
    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.host.messages import Shard
    from kernbench.host.torch.context import RuntimeContext


class Tensor:
    """A deployed tensor: a name, a shape, a layout over the PEs of one SIP. Its memory is free again when it is deleted."""

    __slots__ = ("__weakref__", "_context", "_runtime", "contents", "layout", "name", "sip")

    def __init__(self, context: RuntimeContext, name: str, sip: int, layout: Layout, contents: Contents) -> None:
        self._context = context
        self._runtime = context.runtime
        self.name = name
        self.sip = sip
        self.layout = layout
        self.contents = contents

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self.layout.shape

    @property
    def dtype(self) -> str:
        """The short name of the element type."""
        return self.layout.dtype

    @property
    def context(self) -> RuntimeContext:
        """The `torch` that made it, on which the regions of tensor parallelism are written."""
        return self._context

    def numel(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    def data_ptr(self) -> int:
        """The address at which it begins, in the machine's model of addresses: virtual, logical, or its first shard's own."""
        return self.layout.va

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Every copy of every part: (sip, cube, pe, pa, nbytes), by rising place in the tensor."""
        return self.layout.shards

    def initial(self) -> np.ndarray:
        """The numbers it was made with. Takes no simulated time: it is for references of `torch.expect`."""
        return self.contents.make()

    def copy_(self, array: np.ndarray | Tensor) -> Tensor:
        """Write an array of the host to the device: timed, in the order of the stream, not waited for.

        Errors: InputError for an array of another shape.
        """
        given = array.numpy() if isinstance(array, Tensor) else np.asarray(array)
        if given.shape != self.shape:
            raise InputError(
                f"tensor {self.name!r} has shape {self.shape}, copy_ got an array of shape {given.shape}; reshape it first"
            )
        self._runtime.write(self, given)
        return self

    def numpy(self) -> np.ndarray:
        """The numbers on the device, read by the host: timed, after all that was issued before."""
        return self._runtime.read(self)

    cpu = numpy

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, shape={self.shape}, dtype={self.dtype!r}, sip={self.sip})"

    def __del__(self) -> None:
        self._runtime.release(self)
