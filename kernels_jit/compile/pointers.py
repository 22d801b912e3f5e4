"""Pointers and records: memory access of compiled code without reference counts and negative indices.

A numba array is seven words, is reference-counted at every call, and checks `a[i]` for a negative index. A pointer is one
word and `p[i]` is one load. A record is a pointer with named fields: numba reads and writes `record.field` in place. Entry
points take arrays and make pointers of them once; everything inside passes pointers and records.

Under `NUMBA_DISABLE_JIT=1` a pointer is a flat view of its array and a record is a view of some words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WORD = 8  # bytes
_POINTER = types.CPointer(types.int64)
_INDEX = types.CPointer(types.int32)
_INTERPRETED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


def _pointer(_typing: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.bitcast(data, context.get_value_type(_POINTER))

    return _POINTER(array), generate


def _index_pointer(_typing: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.bitcast(data, context.get_value_type(_INDEX))

    return _INDEX(array), generate


def _offset(_typing: Any, pointer: Any, word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, word), generate


def _place(_typing: Any, pointer: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(signature.return_type)
        start, here = (builder.ptrtoint(argument, word) for argument in arguments)
        return builder.ashr(builder.sub(here, start), word(WORD.bit_length() - 1))

    return types.int64(pointer, record), generate


def _record(kind: np.dtype, stride: int, base: int | None) -> Callable[..., Any]:
    row = numba.from_dtype(kind)

    def at(_typing: Any, pointer: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start, index = arguments
            index = builder.mul(context.cast(builder, index, signature.args[1], types.int64), _word(stride))
            if base is not None:
                index = builder.add(builder.load(builder.gep(start, [_word(base)])), index)
            return builder.bitcast(builder.gep(start, [index]), context.get_value_type(row))

        return row(pointer, number), generate

    return at


def _indexed(kind: np.dtype) -> Callable[..., Any]:
    row, stride = numba.from_dtype(kind), kind.itemsize // WORD

    def at(_typing: Any, pointers: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start, index = (builder.extract_value(arguments[0], place) for place in range(2))
            number = context.cast(builder, arguments[1], signature.args[1], types.int64)
            entry = builder.sext(builder.load(builder.gep(index, [number])), context.get_value_type(types.int64))
            place = builder.gep(start, [builder.mul(entry, _word(stride))])
            return builder.bitcast(place, context.get_value_type(row))

        return row(pointers, number), generate

    return at


def _word(value: int) -> ir.Constant:
    return ir.Constant(ir.IntType(8 * WORD), value)


def _flat_view(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.int64)


def _view_from(pointer: np.ndarray, word: int) -> np.ndarray:
    return pointer[word:]


def _word_of(pointer: np.ndarray, record: Any) -> int:
    return (record.__array_interface__["data"][0] - pointer.__array_interface__["data"][0]) // WORD


def _record_view(kind: np.dtype, stride: int, base: int | None) -> Callable[..., Any]:
    words = kind.itemsize // WORD

    def at(pointer: np.ndarray, number: int) -> Any:
        word = int(number) * stride + (0 if base is None else int(pointer[base]))
        return pointer[word : word + words].view(kind).view(np.recarray)[0]

    return at


def _same(array: np.ndarray) -> np.ndarray:
    return array


def _indexed_view(kind: np.dtype) -> Callable[..., Any]:
    at = _record_view(kind, kind.itemsize // WORD, None)
    return lambda pointers, number: at(pointers[0], pointers[1][number])


pointer_to: Callable[[Any], Any] = _flat_view if _INTERPRETED else intrinsic(_pointer)  # type: ignore[assignment]
"""The pointer to the first word of a contiguous array of int64 or of records, which must outlive it."""

index_pointer_to: Callable[[Any], Any] = _same if _INTERPRETED else intrinsic(_index_pointer)  # type: ignore[assignment]
"""The pointer to the first number of a contiguous int32 array, which must outlive it."""

offset: Callable[[Any, Any], Any] = _view_from if _INTERPRETED else intrinsic(_offset)  # type: ignore[assignment]
"""A pointer a number of words after another."""

place_of: Callable[[Any, Any], Any] = _word_of if _INTERPRETED else intrinsic(_place)  # type: ignore[assignment]
"""The number of words from a pointer to a record."""


def record_at(kind: np.dtype) -> Callable[[Any, Any], Any]:
    """A function of (pointer, word) that returns the record of this kind at that word."""
    return _accessor(kind, 1, None)


def row_at(kind: np.dtype) -> Callable[[Any, Any], Any]:
    """A function of (pointer, number) that returns the record of that number in a table that starts at the pointer."""
    return _accessor(kind, kind.itemsize // WORD, None)


def indexed_row_at(kind: np.dtype) -> Callable[[Any, Any], Any]:
    """A function of ((pointer, index pointer), number) that returns the record whose number the index has there."""
    return _indexed_view(kind) if _INTERPRETED else intrinsic(_indexed(kind))  # type: ignore[return-value]


def table_row_at(kind: np.dtype, base: int) -> Callable[[Any, Any], Any]:
    """A function of (pointer, number) that returns the record of that number in the table whose place is in word `base`."""
    return _accessor(kind, kind.itemsize // WORD, base)


def _accessor(kind: np.dtype, stride: int, base: int | None) -> Callable[[Any, Any], Any]:
    if _INTERPRETED:
        return _record_view(kind, stride, base)
    return intrinsic(_record(kind, stride, base))  # type: ignore[return-value]
