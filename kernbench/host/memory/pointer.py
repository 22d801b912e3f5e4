"""The address of a tensor as a kernel gets it, and the check of the type of an access."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernbench.dtypes import HELD, canonical
from kernbench.errors import AddressError
from kernbench.tl.language.context_base import CheckedPointer

_WHOLE: tuple[type, ...] = (int, np.integer)


class Owner(NamedTuple):
    """The tensor at an address: its name and its type."""

    name: str
    dtype: str

    def check_type(self, dtype: str | None) -> None:
        """Check the type of an access, None if it has none. Errors: AddressError for another than the tensor's."""
        if dtype is not None and dtype != self.dtype and canonical(dtype) != self.dtype:
            if self.dtype in HELD:
                raise AddressError(
                    f"tensor {self.name!r} has elements of {self.dtype}, which kernels of Triton alone have; make it one of "
                    f"{dtype!r}, such as torch.from_numpy(array.astype(...))"
                )
            raise AddressError(
                f"tensor {self.name!r} has elements of {self.dtype}, and the access is of {dtype}; make it one of "
                f"{self.dtype!r}, or give int(pointer) for the bytes as they are"
            )


class Pointer(CheckedPointer):
    """An address; it plus or minus an integer, one of numpy too, in whose type it may not fit, is an address."""

    __array_ufunc__ = None  # numpy leaves arithmetic to this class

    _owner: Owner | None

    def __new__(cls, address: int, owner: Owner | None = None) -> Pointer:
        self = super().__new__(cls, address)
        self._owner = owner
        return self

    def __add__(self, other: Any) -> Any:
        return Pointer(int(self) + int(other), self._owner) if isinstance(other, _WHOLE) else int(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Pointer) or not isinstance(other, _WHOLE):
            return int(self) - other
        return Pointer(int(self) - int(other), self._owner)

    def check_access(self, nbytes: int, dtype: str | None = None) -> None:  # noqa: ARG002
        """Check an access from here on. Errors: AddressError if the tensor has elements of another type."""
        if self._owner is not None:
            self._owner.check_type(dtype)
