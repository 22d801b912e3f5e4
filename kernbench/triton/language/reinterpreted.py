"""`triton.reinterpret`: a tensor of the host seen in another element type of the same size."""

from __future__ import annotations

from typing import Any

from kernbench.errors import InputError
from kernbench.triton.language.types import dtype


class TensorWrapper:
    """A tensor of torch whose elements a kernel sees in another type."""

    def __init__(self, base: Any, dtype: dtype) -> None:
        self.base, self.dtype = base, dtype
        self.shape, self.device = base.shape, base.device

    def data_ptr(self) -> int:
        """Where its first element is."""
        return self.base.data_ptr()

    def untyped_storage(self) -> Any:
        """The storage of the tensor."""
        return self.base.untyped_storage()

    def stride(self, *axis: int) -> Any:
        """Elements from one place to the next."""
        return self.base.stride(*axis)

    def numel(self) -> int:
        """The number of its elements."""
        return self.base.numel()

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.base.element_size()


def reinterpret(tensor: Any, dtype: dtype) -> Any:
    """A tensor in another type; in its own type the tensor itself. Errors: InputError for a type of another size."""
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if base.element_size() != dtype.itemsize:
        raise InputError(
            f"triton.reinterpret got a tensor of {base.dtype} and the type {dtype}; both have as many bytes"
        )
    return TensorWrapper(base, dtype)
