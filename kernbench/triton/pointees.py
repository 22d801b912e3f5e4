"""Tensors that kernels reach by addresses in memory: a tensor of whole numbers of 64 bits may hold those of other tensors.

The tensors of torch that live are looked through for the storage of an address; nobody else knows of it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernbench.triton.host_arrays import HostMemory, is_tensor, storage_of, type_of

_MOST = 1 << 12  # elements of a tensor of addresses
_LEAST = 1 << 32  # of an address


class _Nothing:
    """The class of tensors where torch is not installed."""


def find_pointees(args: Sequence[Any]) -> list[Any]:
    """The tensors of torch whose addresses stand in some arguments, a storage once each."""
    addresses = np.unique(np.concatenate([*_addresses(args), np.zeros(0, np.int64)]))
    if not len(addresses):
        return []
    found: dict[int, Any] = {}
    tensor: type = getattr(sys.modules.get("torch"), "Tensor", _Nothing)
    for one in gc.get_objects():
        if not issubclass(type(one), tensor):
            continue
        start, _, nbytes = storage_of(one)
        at = np.searchsorted(addresses, start)
        if at < len(addresses) and addresses[at] < start + nbytes:
            found.setdefault(start, one)
    return [found[start] for start in sorted(found)]


def _addresses(args: Sequence[Any]) -> Iterator[np.ndarray]:
    for value in args:
        if not is_tensor(value) or type_of(value).name not in ("int64", "uint64"):
            continue
        memory = HostMemory()
        memory.pointer_to(value, "")
        numbers = memory.arrays[0].view(np.int64)
        if 0 < len(numbers) <= _MOST and ((numbers == 0) | (numbers > _LEAST)).all():
            yield numbers[numbers != 0]
