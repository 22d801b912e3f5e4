"""Files of Triton with wrappers of their own: programs whose launches are simulated, one line each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kernbench import library
from kernbench.frontends.benches import CODE
from kernbench.frontends.benches import FRONT_END as BENCHES
from kernbench.frontends.frontend import Files, FrontEnd
from kernbench.user_modules import imports_module

_BENCH = re.compile(r"^@(?:\w+\.)?bench\b", re.MULTILINE)


def imports_triton(path: Path) -> bool:
    """Whether a path is a Python file that imports Triton."""
    return imports_module(path, "triton")


def is_triton_file(name: str) -> bool:
    """Whether a name is a Python file that imports Triton and has no bench."""
    return imports_triton(Path(name)) and not _BENCH.search(_read(Path(name)))


def _read(path: Path) -> str:
    """The text of a Python file; empty for any other file."""
    if path.suffix == ".py" and library.is_file(path):
        with suppress(OSError, UnicodeDecodeError):
            return path.read_text()
    return ""


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The file itself, which is Python that runs."""
    del parameters
    return [(CODE, Path(name))]


FRONT_END = FrontEnd(
    name="triton-file",
    kind="triton-file",
    title="Triton file",
    machine=BENCHES.machine,
    workloads="kernbench.frontends.triton_file_workloads",
    claims=is_triton_file,
    names=dict,
    small=BENCHES.small,
    files_of=name_files,
    options=BENCHES.options,
    suffixes=(".py",),
)
