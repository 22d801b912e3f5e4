"""Memory in kernels of Triton: loads, stores, block pointers, atomics, barriers."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language import machine as on
from kernbench.triton.language.block import add_methods, as_block, mask_of, pointer, tensor
from kernbench.triton.language.block_pointer import block_pointer
from kernbench.triton.lowering.recorder import as_numbers


def load(
    pointer: pointer | block_pointer,
    mask: Any = None,
    other: Any = None,
    boundary_check: Sequence[int] = (),
    padding_option: str = "",
    cache_modifier: str = "",  # noqa: ARG001
    eviction_policy: str = "",  # noqa: ARG001
    volatile: bool = False,  # noqa: ARG001
) -> tensor:
    """The elements at pointers where the mask holds, and `other` elsewhere; of a block pointer those inside of its tensor."""
    if isinstance(pointer, block_pointer):
        mask, other = pointer.mask(boundary_check), float("nan") if padding_option == "nan" else 0
        pointer = pointer.pointers()
    _check_pointer("load", pointer)
    kind = pointer.element
    filled = other.to(kind).data if isinstance(other, tensor) else other
    return tensor(on.machine().load(pointer.number, pointer.offsets, mask_of(mask), filled, kind.numpy), kind)


def store(
    pointer: pointer | block_pointer,
    value: Any,
    mask: Any = None,
    boundary_check: Sequence[int] = (),
    cache_modifier: str = "",  # noqa: ARG001
    eviction_policy: str = "",  # noqa: ARG001
) -> None:
    """Write elements where the mask holds; through a block pointer those inside of its tensor."""
    if isinstance(pointer, block_pointer):
        mask = pointer.mask(boundary_check)
        pointer = pointer.pointers()
    _check_pointer("store", pointer)
    data = as_block(value, pointer.element).to(pointer.element).data
    on.machine().store(pointer.number, pointer.offsets, data, mask_of(mask))


def make_block_ptr(
    base: pointer,
    shape: Any,
    strides: Any,
    offsets: Any,
    block_shape: Sequence[int],
    order: Sequence[int] = (),  # noqa: ARG001
) -> block_pointer:
    """A pointer to a block of a strided tensor."""
    _check_pointer("make_block_ptr", base)
    return block_pointer(base, shape, strides, offsets, block_shape)


def advance(base: block_pointer, offsets: Sequence[Any]) -> block_pointer:
    """The block so many elements further on each axis."""
    if not isinstance(base, block_pointer):
        fail(f"tl.advance got {base!r}", "give a block pointer, such as one from tl.make_block_ptr")
    return base.advance(offsets)


def _atomic(
    name: str, pointers: pointer, values: Sequence[Any], mask: Any, sem: str | None, combine: Callable[..., Any]
) -> tensor:
    _check_pointer(name, pointers)
    kind = pointers.element
    given = [as_block(value, kind).to(kind).data for value in values]
    holds, offsets = mask_of(mask), pointers.offsets

    def perform(array: np.ndarray) -> np.ndarray:
        at = np.asarray(as_numbers(offsets))
        numbers = [np.asarray(as_numbers(one)) for one in given]
        shape = np.broadcast_shapes(at.shape, *(one.shape for one in numbers))
        at, *numbers = (np.broadcast_to(one, shape) for one in (at, *numbers))
        kept = np.broadcast_to(True if holds is None else as_numbers(holds), shape)
        old = np.zeros(shape, array.dtype)
        for place in np.ndindex(shape):  # one by one: several may name one element
            if kept[place]:
                old[place] = array[at[place]]
                array[at[place]] = combine(old[place], *(one[place] for one in numbers))
        return old

    orders = sem != "relaxed"
    return tensor(on.machine().atomic(pointers.number, offsets, holds, given, kind.numpy, perform, orders=orders), kind)


def _atomic_function(name: str, combine: Callable[..., Any], doc: str) -> Callable[..., tensor]:
    def atomic(pointer: pointer, val: Any, mask: Any = None, sem: str | None = None, scope: Any = None) -> tensor:  # noqa: ARG001
        return _atomic(name, pointer, [val], mask, sem, combine)

    atomic.__name__, atomic.__doc__ = name, f"{doc}; returns the old elements."
    return atomic


atomic_add = _atomic_function("atomic_add", lambda old, x: old + x, "Add to elements")
atomic_max = _atomic_function("atomic_max", builtins.max, "Keep the larger of elements and values")
atomic_min = _atomic_function("atomic_min", builtins.min, "Keep the smaller of elements and values")
atomic_and = _atomic_function("atomic_and", lambda old, x: old & x, "Keep the bits of both")
atomic_or = _atomic_function("atomic_or", lambda old, x: old | x, "Keep the bits of either")
atomic_xor = _atomic_function("atomic_xor", lambda old, x: old ^ x, "Keep the bits of one of both")
atomic_xchg = _atomic_function("atomic_xchg", lambda _, x: x, "Replace elements")


def atomic_cas(pointer: pointer, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None) -> tensor:  # noqa: ARG001
    """Replace elements that are equal to `cmp`; returns the old elements."""
    return _atomic("atomic_cas", pointer, [cmp, val], None, sem, lambda old, x, y: y if old == x else old)


def debug_barrier() -> None:
    """Wait for all commands of the program."""
    on.machine().barrier()


def _check_pointer(name: str, x: Any) -> None:
    if not isinstance(x, pointer):
        fail(f"tl.{name} got {x!r}", "give pointers, such as a tensor argument plus offsets")


add_methods(globals())
