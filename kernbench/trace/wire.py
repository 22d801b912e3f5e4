"""Protobuf messages by the column: many messages of one shape are encoded at once, as the rows of a matrix of bytes.

A varint of a column takes as many bytes in each row as the largest value needs; the encoding allows longer forms than the
shortest. So all messages of one shape are equally long, and their lengths are constants.
Source: Protocol Buffers Documentation, "Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_VARINT, _FIXED64, _LENGTH = 0, 1, 2  # wire types
_PAYLOAD = 7  # bits of a value in a byte of a varint
_MORE = 0x80  # set in all bytes of a varint but its last


def varint(value: int) -> bytes:
    """A number of at least 0 as a varint, as short as can be."""
    found = bytearray()
    while value >= _MORE:
        found.append(value & (_MORE - 1) | _MORE)
        value >>= _PAYLOAD
    found.append(value)
    return bytes(found)


def varints(values: np.ndarray) -> np.ndarray:
    """uint8[n, width] varints of int64[n] numbers of at least 0, all as long as that of the largest."""
    width = len(varint(int(values.max(initial=0))))
    found = np.empty((len(values), width), np.uint8)
    for at in range(width):
        found[:, at] = (values >> (_PAYLOAD * at)) & (_MORE - 1)
    found[:, :-1] |= _MORE
    return found


class Messages:
    """Messages of one shape. A field is one value for all of them, or an array with one for each."""

    def __init__(self) -> None:
        self._parts: list[bytes | np.ndarray] = []
        self.width = 0  # bytes of each message

    def number(self, field: int, value: int | np.ndarray) -> Messages:
        """Append a field of type int32, int64, uint32, uint64, bool or enum; values are int64[n], at least 0."""
        self._tag(field, _VARINT)
        return self._put(varint(value) if isinstance(value, int) else varints(value))

    def fixed64(self, field: int, values: np.ndarray) -> Messages:
        """Append a field of type fixed64 or double: int64[n] or float64[n]."""
        self._tag(field, _FIXED64)
        return self._put(values.astype(values.dtype.newbyteorder("<")).view(np.uint8).reshape(len(values), 8))

    def text(self, field: int, value: str) -> Messages:
        """Append a field of type string."""
        encoded = value.encode()
        return self._tag(field, _LENGTH)._put(varint(len(encoded)) + encoded)

    def message(self, field: int, inner: Messages) -> Messages:
        """Append a field that is a message."""
        return self._tag(field, _LENGTH)._put(varint(inner.width)).append(inner)

    def append(self, other: Messages) -> Messages:
        """Append the fields of other messages."""
        for part in other._parts:
            self._put(part)
        return self

    def rows(self, count: int) -> np.ndarray:
        """uint8[count, width] the messages; `count` is the length of all arrays that were given."""
        found, at = np.empty((count, self.width), np.uint8), 0
        for part in self._parts:
            width = part.shape[1] if isinstance(part, np.ndarray) else len(part)
            found[:, at : at + width] = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
            at += width
        return found

    def encode(self) -> bytes:
        """The one message of fields that are no arrays."""
        return self.rows(1).tobytes()

    def _tag(self, field: int, wire_type: int) -> Messages:
        return self._put(varint(field << 3 | wire_type))

    def _put(self, part: bytes | np.ndarray) -> Messages:
        if self._parts and isinstance(part, bytes) and isinstance(last := self._parts[-1], bytes):
            self._parts[-1] = last + part
        else:
            self._parts.append(part)
        self.width += part.shape[1] if isinstance(part, np.ndarray) else len(part)
        return self


def join_rows(shapes: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """uint8[] all rows of matrices in one order: each is int64[n], the places of its rows, and uint8[n, width]."""
    length = np.zeros(sum(len(place) for place, _ in shapes) + 1, np.int64)
    for place, rows in shapes:
        length[place + 1] = rows.shape[1]
    start = np.cumsum(length)
    found = np.empty(int(start[-1]), np.uint8)
    for place, rows in shapes:
        found[start[place][:, None] + np.arange(rows.shape[1])] = rows
    return found
