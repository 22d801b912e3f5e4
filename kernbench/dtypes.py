"""Element types of kernels, by their short names.

numpy has no bf16 or fp8, so those come from ml_dtypes, which is imported only when one of them is used.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from kernbench.errors import InputError, suggest

BITS = {
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "f8e4m3": 8,
    "f8e5m2": 8,
    "i32": 32,
    "i16": 16,
    "i8": 8,
    "u32": 32,
    "u16": 16,
    "u8": 8,
}
HELD = {"f64": 64, "i64": 64, "u64": 64, "bool": 8}  # in memory for kernels of Triton; `tl` has no such types
BLOCK_BITS = {"bfp8": 8.5, "bfp4": 4.5}  # of block formats of chips, each element with its share of the exponent of 16
ALIASES = {"fp8": "f8e4m3"}  # the default of each width
_NUMPY = {"f": "float", "i": "int", "u": "uint"}
_ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def bits(dtype: str) -> int:
    """The number of bits of an element. Errors: InputError for an unknown name, listing the known ones."""
    found = BITS.get(ALIASES.get(dtype, dtype)) or HELD.get(dtype)
    if found is None:
        raise InputError(f"unknown dtype {dtype!r}{suggest(str(dtype), BITS)}")
    return found


def canonical(dtype: str) -> str:
    """The short name of an alias. Errors: InputError for an unknown name, listing the known ones."""
    bits(dtype)
    return ALIASES.get(dtype, dtype)


def canonical_stored(dtype: str) -> str:
    """As `canonical`, of the types that memories of chips hold too: block formats. Errors: InputError."""
    if dtype not in BLOCK_BITS and dtype not in BITS and dtype not in ALIASES:
        raise InputError(f"unknown dtype {dtype!r}{suggest(str(dtype), [*BITS, *BLOCK_BITS])}")
    return ALIASES.get(dtype, dtype)


def stored_bytes(dtype: str) -> float:
    """The bytes that an element takes in memory, of a block format with its share of the exponent."""
    return BLOCK_BITS[dtype] / 8 if dtype in BLOCK_BITS else itemsize(dtype)


def itemsize(dtype: str) -> int:
    """The number of bytes of an element."""
    return bits(dtype) // 8


@cache
def numpy_dtype(dtype: str) -> np.dtype:
    """The numpy type of a name. Errors: InputError for an unknown name, listing the known ones."""
    dtype = canonical(dtype)
    if dtype in _ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[dtype]))
    return np.dtype(bool) if dtype == "bool" else np.dtype(f"{_NUMPY[dtype[0]]}{bits(dtype)}")


def name_of(dtype: np.dtype) -> str:
    """The short name of a numpy type. Errors: InputError for a type that no memory holds."""
    for name in (*BITS, *HELD):
        if numpy_dtype(name) == dtype:
            return name
    raise InputError(f"arrays of {dtype} have no device dtype; convert to one of {', '.join(sorted(BITS))}")


def is_float(dtype: str) -> bool:
    """Whether elements are floating-point numbers."""
    bits(dtype)
    return dtype[0] not in "iu" and dtype != "bool"


def widen(array: np.ndarray) -> np.ndarray:
    """An array as references compute with it: floats in f32, integers in their own type, where they wrap as on the device."""
    return array if array.dtype.kind in "iu" else array.astype(np.float32)
