"""Accesses of a group of programs: elements of a tensor, checked, as descriptors and the base of each program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from kernbench.triton.lowering.block_array import BlockArray, ReadsDataError
from kernbench.triton.lowering.descriptors import Descriptors, find_descriptors
from kernbench.triton.lowering.grouped import DivergedError, Grouped
from kernbench.triton.lowering.script import Access


class TensorFacts(NamedTuple):
    """What a recording knows of a tensor of a launch."""

    name: str
    elements: int
    itemsize: int
    copies: int  # of each part


class Descriptions:
    """The descriptors of accesses by their patterns, each found once for a launch."""

    def __init__(self, line_bytes: int, dims: int) -> None:
        self.line_bytes, self._dims = line_bytes, dims
        self._known: dict[tuple[int, int, bytes], Descriptors] = {}

    def find(self, pattern: np.ndarray, first: int, size: int) -> Descriptors:
        """The descriptors of int64[element] elements from the least on, whose first byte is `first` bytes into a line."""
        key = size, first, pattern.tobytes()
        found = self._known.get(key)
        if found is None:
            found = find_descriptors(pattern * size + first, size, self.line_bytes, self._dims)
            self._known[key] = found
        return found


class Accesses:
    """The accesses of programs, int64[program, 3] their identities; `refuse(line, sentence)` raises for one that cannot be."""

    def __init__(
        self,
        ids: np.ndarray,
        tensors: Sequence[TensorFacts],
        descriptions: Descriptions,
        refuse: Callable[[int, str], NoReturn],
    ) -> None:
        self._ids, self._tensors, self._descriptions, self._refuse = ids, tensors, descriptions, refuse

    def find(self, tensor: int, offsets: Any, mask: Any, line: int, *, write: bool) -> Access | None:
        """An access to elements of a tensor; None for one that the mask leaves without any.

        Errors: those of `refuse`; DivergedError; ReadsDataError for offsets or a mask that are not known.
        """
        base, pattern = _split(_known(offsets))
        if mask is not None and mask is not True:
            holds = np.asarray(_known(mask), bool)
            shape = np.broadcast_shapes(pattern.shape, holds.shape)
            pattern = np.broadcast_to(pattern, shape)[np.broadcast_to(holds, shape)]
        if not pattern.size:
            return None
        pattern = pattern.reshape(-1).astype(np.int64)
        low, high = int(pattern.min()), int(pattern.max())
        facts, first = self._tensors[tensor], np.broadcast_to(base + low, len(self._ids))
        self._check(facts, first, high - low, line, write=write)
        start = first * facts.itemsize
        rest = start % self._descriptions.line_bytes
        kinds = [self._descriptions.find(pattern - low, at, facts.itemsize) for at in np.unique(rest).tolist()]
        if not all(_are_equal(kinds[0], kind) for kind in kinds[1:]):
            raise DivergedError(rest)
        return Access(tensor, kinds[0], start - rest, write)

    def _check(self, facts: TensorFacts, first: np.ndarray, span: int, line: int, *, write: bool) -> None:
        """Check the first element of each program and the last, `span` behind it, and that all programs see what is stored."""
        if write and facts.copies > 1:
            self._refuse(
                line,
                f"stores to tensor {facts.name!r}, which has a copy on each of {facts.copies} PEs; make it with "
                "torch.DPPolicy(cube='row_wise', pe='row_wise')",
            )
        outside = (first < 0) | (first + span >= facts.elements)
        if not outside.any():
            return
        at = int(np.argmax(outside))
        low = int(first[at])
        where, by = (low, -low) if low < 0 else (low + span, low + span - facts.elements + 1)
        ids = ", ".join(str(one) for one in self._ids[at])
        self._refuse(
            line,
            f"program ({ids}) {'stores to' if write else 'loads from'} element {where} of tensor {facts.name!r}, which has "
            f"{facts.elements}: {by} {'before its first' if low < 0 else 'beyond its last'}; mask the access, or check the "
            "strides",
        )


def _known(x: Any) -> Any:
    """Numbers of an address or a mask. Errors: ReadsDataError if they are unknown."""
    if isinstance(x, BlockArray):
        if x.data is None:
            raise ReadsDataError
        return x.data
    return x


def _are_equal(some: Descriptors, others: Descriptors) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def _split(x: Any) -> tuple[Any, np.ndarray]:
    return (x.base, x.pattern) if isinstance(x, Grouped) else (0, np.asarray(x))
