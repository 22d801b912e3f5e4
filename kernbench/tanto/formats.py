"""Element formats: how numbers are stored, and conversion to and from float32 on whole arrays.

bfloat16 is stored as its 16 bits, which are the upper half of a float32. Conversion to it and to float16 cuts what is left over
off, or rounds to the nearest, ties to even.

In a block format 16 elements in a row of a face share an exponent of 8 bits, and each has a sign and some bits of magnitude
(Tenstorrent, public documentation of the data formats of Tensix: BFP8 has 7 of them, BFP4 has 3). It takes the bytes of the
chip in L1, in DRAM and on networks; its numbers are stored here as bits of bfloat16, which holds each of them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernbench.errors import InputError, suggest

SHARED = 16  # elements that have one exponent in a block format
_EXPONENT_BITS = 8
_LEAST_EXPONENT, _MOST_EXPONENT = -126, 128  # of a float32 that is not denormal; of infinities


@dataclass(frozen=True, slots=True)
class Format:
    """An element format: its storage, and whether the storage is bits of a bfloat16.

    A block format has `magnitude` bits of each element beside its sign.
    """

    name: str
    storage: np.dtype
    is_bfloat: bool = False
    magnitude: int = 0

    def bytes_of(self, count: int) -> int:
        """The bytes of so many elements on the chip."""
        if not self.magnitude:
            return self.storage.itemsize * count
        return -(-count * ((1 + self.magnitude) * SHARED + _EXPONENT_BITS) // (8 * SHARED))

    @property
    def precision(self) -> type[np.floating]:
        """The type that computations on elements have: float32, or float64 for integers of 32 bits and more."""
        wide = self.storage.kind in "iu" and self.storage.itemsize >= 4 and not self.is_bfloat
        return np.float64 if wide else np.float32

    def to_float(self, stored: np.ndarray) -> np.ndarray:
        """Stored elements in the precision of computations."""
        if self.is_bfloat:
            return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return stored.astype(self.precision)

    def from_float(self, values: np.ndarray, *, nearest: bool = False) -> np.ndarray:
        """Stored elements of float32 values; integers are cut towards zero and kept in range."""
        if self.magnitude:
            values = share_exponents(values, self.magnitude, nearest=nearest)
        if self.is_bfloat:
            bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
            return round_bits(bits) if nearest else (bits >> np.uint32(16)).astype(np.uint16)
        if self.storage.kind == "f":
            with np.errstate(over="ignore"):
                found = values.astype(self.storage)
            return found if nearest else cut(found, values)
        limits = np.iinfo(self.storage)
        return np.clip(np.nan_to_num(np.trunc(values.astype(np.float64))), limits.min, limits.max).astype(self.storage)


def share_exponents(values: np.ndarray, magnitude: int, *, nearest: bool) -> np.ndarray:
    """float32 values of a block format, in the shape they had: each 16 in a row with the exponent of their largest.

    Magnitudes are cut, or rounded to nearest even and kept in range; an exponent below that of a float32 gives zeros. An
    infinity or NaN stays, and takes the exponent from the others.
    """
    flat = np.asarray(values, np.float32).reshape(-1)
    blocks = np.zeros(-(-len(flat) // SHARED) * SHARED, np.float32)
    blocks[: len(flat)] = flat
    blocks = blocks.reshape(-1, SHARED)
    largest = np.abs(blocks).max(axis=1, keepdims=True)
    exponent = np.where(np.isfinite(largest), np.frexp(largest)[1] - 1, _MOST_EXPONENT)
    unit = np.ldexp(np.float64(1), exponent - magnitude + 1)
    counts = np.abs(blocks) / unit
    most = (1 << magnitude) - 1
    counts = np.minimum(np.rint(counts) if nearest else np.trunc(counts), most)
    found = np.where(exponent < _LEAST_EXPONENT, 0, np.copysign(counts * unit, blocks))
    found = np.where(np.isfinite(blocks), found, blocks)
    return found.astype(np.float32).reshape(-1)[: len(flat)].reshape(np.shape(values))


def cut(rounded: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Rounded values, or where one is further from zero than what it is of, the next one towards zero."""
    return np.where(np.abs(rounded) > np.abs(values), np.nextafter(rounded, rounded.dtype.type(0)), rounded)


def round_bits(bits: np.ndarray) -> np.ndarray:
    """uint16 bits of the bfloat16 nearest to each float32, given as uint32 bits; a NaN stays one."""
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)


def _format(name: str, storage: str, is_bfloat: bool = False, magnitude: int = 0) -> Format:
    return Format(name, np.dtype(storage), is_bfloat, magnitude)


FORMATS: dict[str, Format] = {
    "bfloat16": _format("bfloat16", "uint16", True),
    "float16": _format("float16", "float16"),
    "float32": _format("float32", "float32"),
    "bfloat8_b": _format("bfloat8_b", "uint16", True, 7),
    "bfloat4_b": _format("bfloat4_b", "uint16", True, 3),
    **{
        name: _format(name, name) for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
    },
}
_OTHER_NAMES = {
    "float": "float32",
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "bfp8": "bfloat8_b",
    "bfp4": "bfloat4_b",
    "int": "int32",
}


def find_format(name: str) -> Format:
    """The format of a name, in any capitals. Errors: InputError for an unknown one."""
    key = name.lower().removesuffix("_t")
    found = FORMATS.get(_OTHER_NAMES.get(key, key))
    if found is None:
        raise InputError(f"unknown format {name!r}{suggest(name, FORMATS)}")
    return found


def from_host(values: np.ndarray, fmt: Format, *, nearest: bool = False) -> np.ndarray:
    """Stored elements of an array of the host, flat: bits of the storage as they are, numbers converted."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if fmt.is_bfloat and (flat.dtype == np.uint16 or flat.dtype.name == "bfloat16" or flat.dtype.kind == "V"):
        return flat.view(np.uint16).copy()
    if flat.dtype == fmt.storage:
        return flat.copy()
    if fmt.storage.kind in "iu" and not fmt.is_bfloat and flat.dtype.kind in "iub":
        return flat.astype(fmt.storage)
    return fmt.from_float(flat.astype(np.float32), nearest=nearest or not fmt.is_bfloat)


def to_host(stored: np.ndarray, fmt: Format) -> np.ndarray:
    """The array that the host gets: float32 for bfloat16, else the storage itself."""
    return fmt.to_float(stored) if fmt.is_bfloat else stored.copy()
