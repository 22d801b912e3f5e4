"""Kernel files are read and preprocessed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.tanto.language.macros import Macro
from kernbench.tanto.language.preprocessor import Preprocessor
from kernbench.tanto.language.source import Source

_MOST_BYTES = 4 << 20


def read_source(path: Path, defines: Mapping[str, str] | None = None) -> Source:
    """Read and preprocess a kernel file. Errors: as of `read_text` and `make_source`."""
    return make_source(show_path(path), read_text(path), defines)


def read_text(path: Path) -> str:
    """The text of a kernel file, in UTF-8 or else Latin-1. Errors: InputError for one that cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{show_path(path)}: cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise InputError(f"{show_path(path)}: has {len(data):,} bytes; a kernel file has at most {_MOST_BYTES:,}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def make_source(file: str, text: str, defines: Mapping[str, str] | None = None) -> Source:
    """Preprocess a text. Errors: KernelSourceError for a directive that is unknown or has no end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    source = Source(file, text, macros={name: Macro(value) for name, value in (defines or {}).items()})
    source.code = Preprocessor(source).run().encode()
    return source
