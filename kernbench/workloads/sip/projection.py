"""Matrices on a rank: stacked, sliced, with the biases and shifts that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.workloads.kernels.cuts import Cut
from kernbench.workloads.sip.rank import Normed, Rank

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor


class Part(NamedTuple):
    """A matrix of the network, (out, features), and the rows or columns of it that a rank has."""

    name: str
    out: int
    features: int
    rows: slice
    cols: slice = slice(None)
    bias: bool = False


class Projection:
    """Matrices of one place of the network as one tensor of a rank, row under row."""

    def __init__(
        self, rank: Rank, place: str, parts: Sequence[Part], norm: Normed | None = None, cut: Cut | None = None
    ) -> None:
        self._rank, self._place, self._parts = rank, place, parts
        self.norm = norm
        name = f"{place}.{'+'.join(part.name for part in parts)}"
        self.rows = sum(_length(part.rows, part.out) for part in parts)
        self.features = _length(parts[0].cols, parts[0].features)
        self.grid = rank.grid(cut)
        self.weight: Tensor = rank.weight(name, self.rows, self.features, self.make, self.grid)
        self.parts: Tensor | int = rank.parts(name, self.grid.rows_of_parts(self.rows))
        self.shift: Tensor | None = None
        self.bias: Tensor | int = 0
        self._folded = norm if norm is not None and norm.shift is not None and rank.folds_norms else None
        if self._folded:
            self.shift = rank.column(f"{name}.shift", self.rows, self._taken_by_mean)
        if self._folded or any(part.bias for part in parts):
            self.bias = rank.column(f"{name}.bias", self.rows, self._whole_bias)

    def make(self) -> np.ndarray:
        """The numbers, float32[rows, features]."""
        numbers = self._rank.numbers
        return np.concatenate(
            [
                _cut(numbers.matrix(self._place, part.name, part.out, part.features)[:, part.cols], part.rows)
                for part in self._parts
            ]
        )

    def _taken_by_mean(self) -> np.ndarray:
        assert self._folded is not None
        return self.make() @ self._folded.scale()

    def _whole_bias(self) -> np.ndarray:
        numbers = self._rank.numbers
        given = [
            _cut(numbers.vector(self._place, f"{part.name}.bias", part.out), part.rows)
            if part.bias
            else np.zeros(_length(part.rows, part.out), np.float32)
            for part in self._parts
        ]
        bias = np.concatenate(given)
        if self._folded is not None and self._folded.shift is not None:
            bias = bias + self.make() @ self._folded.shift()
        return bias


def _length(part: slice, whole: int) -> int:
    return (whole if part.stop is None else part.stop) - (part.start or 0)


def _cut(array: np.ndarray, part: slice) -> np.ndarray:
    """Rows of an array, with zeros behind its end."""
    found = array[part]
    missing = _length(part, len(array)) - len(found)
    return np.concatenate([found, np.zeros((missing, *array.shape[1:]), array.dtype)]) if missing else found
