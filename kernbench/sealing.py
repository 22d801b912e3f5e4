"""Digests inside of the files that are read again, so that a damaged file is named and its figures are not believed.

A digest in a file of its own could not be replaced in one step with the file, so another process would see the old digest of a
new file. A parquet file has room for a mark and a digest before its footer: pages are found from the start of the file, the
footer from its end, and readers pass over what no page claims. A JSON object has its digest as its first field.

A file without a mark is somebody else's, or of an earlier version, and is believed. No single flipped bit removes the mark
and changes anything else.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, shorten

if TYPE_CHECKING:
    import polars

MARK = bytes.fromhex("9f6b65726e62656e636820736861323536ff8ad01c3e5577b2f4")  # is no UTF-8, so in no text of a table
FIELD = "sha256"
_DIGEST_BYTES = 32
_FOOTER_END = 8  # bytes of a parquet file after its footer: the footer's length, little-endian, then the magic


def seal_parquet(path: Path) -> None:
    """Put the digest of a parquet file into it. Errors: OSError."""
    with path.open("r+b") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            digest = _digest(content)
            footer_start = len(content) - _FOOTER_END - int.from_bytes(content[-_FOOTER_END:-4], "little")
            footer = content[footer_start:]
        file.seek(footer_start)
        file.write(MARK + digest + footer)


def read_sealed_parquet(path: Path, columns: list[str] | None = None) -> polars.DataFrame:
    """The table in a parquet file, which other processes may replace meanwhile; all of its columns or some.

    Errors: InputError if there is a digest in the file and it is another; OSError; PolarsError for what is no parquet file.
    """
    import polars

    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size:  # an empty file cannot be mapped; polars refuses it
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if not _keeps_digest(content):
                    raise _damaged(path)
        return polars.read_parquet(file, columns=columns)


def dump_sealed_json(summary: Mapping[str, Any]) -> str:
    """One JSON object with its digest, indented."""
    as_read = json.loads(json.dumps(summary))  # keys are texts, tuples lists
    return json.dumps({FIELD: _digest_of_json(as_read), **as_read}, indent=2) + "\n"


def load_sealed_json(path: Path) -> Any:
    """What a JSON file holds, without its digest.

    Errors: InputError if there is a digest in the file and it is another; OSError; ValueError for what is no JSON.
    """
    found = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(found, dict) and FIELD in found:
        digest = found.pop(FIELD)
        if digest != _digest_of_json(found):
            raise _damaged(path)
    return found


def _keeps_digest(content: mmap.mmap) -> bool:
    place = content.rfind(MARK)
    ends = place + len(MARK) + _DIGEST_BYTES
    return place < 0 or content[place + len(MARK) : ends] == _digest(content, place, ends)


def _digest(content: mmap.mmap, cut: int = 0, ends: int = 0) -> bytes:
    """The digest of a file but for the bytes from `cut` to `ends`."""
    digest = hashlib.sha256()
    with memoryview(content) as view, view[:cut] as before, view[ends:] as after:
        digest.update(before)
        digest.update(after)
    return digest.digest()


def _digest_of_json(summary: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(summary, sort_keys=True).encode()).hexdigest()


def _damaged(path: Path) -> InputError:
    return InputError(
        f"{shorten(path)} is damaged: it is not what was written there; make it again with the same command"
    )
