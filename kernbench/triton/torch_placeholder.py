"""A placeholder for torch where it is not installed: a kernel is taken out of a file whose wrappers need torch.

Whatever the file asks of torch while it is loaded gives a placeholder again. Nothing of it computes.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

_NAME = "torch"


class _Placeholder(ModuleType):
    """A module that has all names."""

    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Base if name[0].isupper() else MagicMock(name=f"{self.__name__}.{name}")


class _Base:
    """What a class of a file may inherit from, or make one of."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return MagicMock(name=name)


class _Finder:
    """Finds torch and all modules below it, and loads each as a placeholder."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """As of a finder of `sys.meta_path`."""
        del path, target
        return ModuleSpec(name, _Finder, is_package=True) if name.partition(".")[0] == _NAME else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """As of a loader."""
        return _Placeholder(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """As of a loader: there is nothing to run."""


@contextmanager
def torch_unless_installed() -> Iterator[None]:
    """Let `import torch` find a placeholder in the block, if it finds nothing else."""
    if importlib.util.find_spec(_NAME) is not None:
        yield
        return
    finder: Any = _Finder
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.partition(".")[0] == _NAME]:
            del sys.modules[name]
