"""Tensors of the host as flat arrays of numpy: those of torch on the CPU, of numpy, and of whatever has their methods.

Nothing here imports torch. A tensor is seen through its storage, so views of one storage are one memory.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from kernbench.errors import InputError
from kernbench.triton.language.block import pointer
from kernbench.triton.language.types import dtype, named

_NAMES = {
    "bool": "int1", "uint8": "uint8", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float16": "float16", "bfloat16": "bfloat16",
    "float32": "float32", "float64": "float64", "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5",
}  # fmt: skip


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of the host."""
    return isinstance(value, np.ndarray) or hasattr(value, "data_ptr")


def type_of(value: Any) -> dtype:
    """The type of a tensor's elements. Errors: InputError for one that Triton does not have."""
    if isinstance(value.dtype, dtype):
        return value.dtype
    name = str(value.dtype).removeprefix("torch.")
    if name not in _NAMES:
        raise InputError(f"a kernel of Triton got a tensor of {name}; give one of {', '.join(sorted(_NAMES))}")
    return named(_NAMES[name])


class HostMemory:
    """The storages of the tensors of a launch, each as one flat array, by the numbers that pointers name."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.names: list[str] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def pointer_to(self, value: Any, name: str) -> pointer:
        """A pointer to the first element of a tensor, the argument of this name."""
        kind = type_of(value)
        start, first, nbytes = storage_of(value)
        key = start, kind.name
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.arrays)
            whole = nbytes // kind.numpy.itemsize * kind.numpy.itemsize
            self.arrays.append(_bytes_at(start, whole).view(kind.numpy))
            self.names.append(name)
        return pointer(number, np.int64((first - start) // kind.numpy.itemsize), kind)


def spanned(value: Any) -> tuple[int, int]:
    """Where the storage of a tensor begins, and its bytes."""
    start, _, nbytes = storage_of(value)
    return start, nbytes


def storage_of(value: Any) -> tuple[int, int, int]:
    """Where the storage of a tensor begins, where its first element is, and the bytes of the storage."""
    if isinstance(value, np.ndarray):
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return owner.ctypes.data, value.ctypes.data, owner.nbytes
    device = str(getattr(value, "device", "cpu"))
    if not device.startswith(("cpu", "cuda")):
        raise InputError(f"a kernel of Triton got a tensor on device {device}; tensors stay on the CPU here")
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        return storage.data_ptr(), value.data_ptr(), storage.nbytes()
    return value.data_ptr(), value.data_ptr(), value.numel() * value.element_size()


def whole_storage(value: Any) -> np.ndarray:
    """All elements of the storage of a tensor, flat."""
    memory = HostMemory()
    return memory.arrays[memory.pointer_to(value, "").number]


def _bytes_at(address: int, nbytes: int) -> np.ndarray:
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
