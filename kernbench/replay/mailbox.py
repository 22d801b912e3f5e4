"""The numbers of messages between PEs, from the send to the receive."""

from __future__ import annotations

import numpy as np

from kernbench.dtypes import name_of, numpy_dtype


class Mailbox:
    """The elements of messages in flight, by queue and number within it."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], np.ndarray] = {}

    def put(self, queue: str, index: int, data: np.ndarray) -> None:
        """Keep a copy of a message; later writes to the source do not change it."""
        self._messages[queue, index] = np.array(data, order="C")

    def look(self, queue: str, index: int) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a message as it was sent."""
        data = self._messages[queue, index]
        return data.shape, name_of(data.dtype)

    def take(self, queue: str, index: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """Remove a message and return its bytes as elements of a shape and dtype of the same size."""
        return self._messages.pop((queue, index)).reshape(-1).view(numpy_dtype(dtype)).reshape(shape)
