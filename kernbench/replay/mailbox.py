"""Messages between PEs, from their sending until they are received."""

from __future__ import annotations

import numpy as np

from kernbench.dtypes import name_of, numpy_dtype


class Mailbox:
    """The elements of messages under way, by queue and number within it."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], np.ndarray] = {}

    def put(self, queue: str, index: int, data: np.ndarray) -> None:
        """Keep a copy of what is sent: what becomes of the source later does not matter."""
        self._messages[queue, index] = np.array(data, order="C")

    def look(self, queue: str, index: int) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a message as it was sent."""
        data = self._messages[queue, index]
        return data.shape, name_of(data.dtype)

    def take(self, queue: str, index: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """The bytes of a message as elements of a shape and dtype of as many bytes; it is gone then."""
        return self._messages.pop((queue, index)).reshape(-1).view(numpy_dtype(dtype)).reshape(shape)
