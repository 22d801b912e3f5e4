"""The registry of kernels by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernbench.errors import InputError, suggest

Kernel = Callable[..., Any]

_kernels: dict[str, Kernel] = {}


def register_kernel(name: str, fn: Kernel) -> None:
    """Register a kernel under a name. Errors: ValueError if another kernel has it."""
    if name in _kernels:
        raise ValueError(f"a kernel named {name!r} is registered already; give this one another name")
    _kernels[name] = fn


def replace_kernel(name: str, fn: Kernel) -> None:
    """Register a kernel under a name, replacing any other: every launch does so, and the last launch wins."""
    _kernels[name] = fn


def get_kernel(name: str) -> Kernel:
    """The kernel of a name. Errors: KeyError with the nearest known name."""
    if name not in _kernels:
        raise KeyError(f"no kernel is named {name!r}{suggest(name, _kernels)}")
    return _kernels[name]


def find_kernel(name: str) -> Kernel:
    """The kernel that a launch names. Errors: InputError with the nearest known name."""
    if name not in _kernels:
        raise InputError(
            f"torch.launch got {name!r} without a kernel, and none is registered by that name"
            f"{suggest(name, _kernels)}; give the kernel after its name"
        )
    return _kernels[name]


def clear_registry() -> None:
    """Remove all kernels; for tests."""
    _kernels.clear()
