"""Flows: a number of bytes from one part to another at a start time; held as columns, since there may be a million."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernbench import units
from kernbench.errors import InputError, suggest
from kernbench.units import FS_PER_NS

MANY = "+"  # between the destinations of a multicast
RECTANGLE = ".."  # between two corners of a rectangle of a mesh
FORM = "SRC:DST[+DST...]:BYTES[:read|write][@START_NS], such as sip0.cube0.pe0:sip1.cube0.pe0:16KiB:read@100"
KINDS = ("read", "write")
LATEST_NS = 1e9  # a second has 2**50 femtoseconds, which a float still holds exactly
MOST_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Flows:
    """One entry for each flow, in the order given. `src` and `dst` are indices into `names`.

    The name of a destination may be several names with `MANY` in between, which is a multicast.
    """

    names: tuple[str, ...]
    src: np.ndarray  # int64[flow]
    dst: np.ndarray  # int64[flow]
    nbytes: np.ndarray  # int64[flow]
    start_fs: np.ndarray  # int64[flow]
    read: np.ndarray  # bool[flow] the bytes go from dst to src
    where: Callable[[int], str]  # the name of flow i in a message

    def __len__(self) -> int:
        return len(self.src)


def parse_flows(texts: Sequence[str]) -> Flows:
    """The flows of texts of the form `FORM`. Errors: InputError for a text of another form or a figure that does not fit."""
    names: dict[str, int] = {}
    rows: list[tuple[int, int, int, int, bool]] = []
    for text in texts:
        src, dst, nbytes, kind, start = _split(text)
        where = f"--flow {text!r}"
        rows.append(
            (
                names.setdefault(src, len(names)),
                names.setdefault(dst, len(names)),
                parse_bytes(nbytes, where),
                parse_start(start, where),
                parse_kind(kind, where),
            )
        )
    src, dst, nbytes, start_fs, read = np.array(rows, np.int64).T
    return Flows(tuple(names), src, dst, nbytes, start_fs, read.astype(bool), lambda i: f"--flow {texts[i]!r}")


def _split(text: str) -> tuple[str, str, str, str, str]:
    """Source, destination, bytes, kind and start, as typed. Errors: InputError."""
    body, at, start = text.partition("@")
    parts = [part.strip() for part in body.split(":")]
    if len(parts) not in (3, 4) or not all(parts) or "@" in start or bool(at) != bool(start):
        raise InputError(f"--flow {text!r} is not of the form {FORM}")
    src, dst, nbytes, kind = (*parts, "write")[:4]
    return src, dst, nbytes, kind, start or "0"


def parse_bytes(text: str, where: str) -> int:
    """A size in bytes, above zero. Errors: InputError that begins with `where`."""
    try:
        nbytes = units.parse_count(text, "B")
    except ValueError as error:
        raise InputError(f"{where}: bytes: {error}") from None
    if nbytes <= 0:
        raise InputError(f"{where}: bytes: got {text!r}, expected more than 0 B")
    if nbytes > MOST_BYTES:
        raise InputError(f"{where}: bytes: got {text!r}, expected {MOST_BYTES >> 40} TiB at most")
    return nbytes


def parse_start(text: str, where: str) -> int:
    """A start in ns, or with a unit, as femtoseconds. Errors: InputError that begins with `where`."""
    try:
        start_ns = units.parse(text, "ns")
    except ValueError as error:
        raise InputError(f"{where}: start_ns: {error}") from None
    if not 0 <= start_ns <= LATEST_NS:
        raise InputError(f"{where}: start_ns: got {text!r}, expected 0 ns to {LATEST_NS / 1e9:g} s")
    return round(start_ns * FS_PER_NS)


def parse_kind(text: str, where: str) -> bool:
    """Whether a kind is "read". Errors: InputError that begins with `where`."""
    if text not in KINDS:
        raise InputError(f"{where}: unknown kind {text!r}{suggest(text, KINDS)}")
    return text == "read"
