"""Compiled functions on disk, one file for each function and types of its arguments.

In place of numba's own files, which trust what they find: a truncated one ends in a traceback, a damaged one in a crash,
and two processes that write one index at once can lead a function to the code of another. Here a file is named after all
that it depends on, begins with a digest of its name and content, and is put in its place in one step. What is damaged,
foreign or missing is compiled anew; what cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from kernels_jit.cache import directory, seal, unseal


class Overloads(_Cache):
    """The compiled overloads of one function, as numba's dispatcher asks for them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._name = f"{Path(code.co_filename).stem}.{function.__qualname__.replace('<locals>', '')}"
        self._code = f"{code.co_firstlineno} {code.co_code.hex()} {code.co_names}"

    @property
    def cache_path(self) -> str:
        """Where the files are."""
        return str(directory())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The function compiled for these types, or None.

        Without numba's declarations, which its own cache loads first: half of the time that all this takes, for nothing but
        compiling.
        """
        rtsys.initialize(target_context)
        content = unseal(self._path(sig, target_context.codegen()))
        return None if content is None else CompileResult._rebuild(target_context, *pickle.loads(content))

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep the function compiled for these types."""
        with suppress(OSError):
            _write(self._path(sig, data.codegen), dumps(data._reduce()))

    def _path(self, sig: Any, codegen: Any) -> Path:
        what = hashlib.sha256(f"{self._code} {sig} {codegen.magic_tuple()}".encode()).hexdigest()
        return directory() / f"{self._name}-{what[:16]}"

    def enable(self) -> None:
        """Part of numba's interface; nothing to do."""

    def disable(self) -> None:
        """Part of numba's interface; nothing to do."""

    def flush(self) -> None:
        """Part of numba's interface; nothing to do."""


def _write(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(seal(path, content))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
