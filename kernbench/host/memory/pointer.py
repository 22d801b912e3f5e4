"""The address of a tensor as a kernel gets it."""

from __future__ import annotations

from typing import Any

import numpy as np

_WHOLE = (int, np.integer)


class Pointer(int):
    """An address; it plus or minus an integer, one of numpy too, in whose type it may not fit, is an address."""

    __array_ufunc__ = None  # numpy leaves arithmetic to this class

    def __add__(self, other: Any) -> Any:
        return Pointer(int(self) + int(other)) if isinstance(other, _WHOLE) else int(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Pointer) or not isinstance(other, _WHOLE):
            return int(self) - other
        return Pointer(int(self) - int(other))
