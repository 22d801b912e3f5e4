"""What of a run a trace holds: by part, by kind and by time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.trace.parts import COMPOSITE
from kernbench.trace.tables import ENDLESS
from kernbench.units import FS_PER_NS, parse

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

OPTION = "--trace-filter"
PATH, COUNTERS = "path", "counters"
KINDS = (
    "memory",
    "gemm",
    "math",
    "control",
    COMPOSITE,
    PATH,
    COUNTERS,
)  # those of the op log, the critical path, and all counters


@dataclass(frozen=True, slots=True)
class TraceFilter:
    """A selection. Parts are patterns: a path, in which * stands for any text, means that part and all below it."""

    parts: tuple[str, ...] = ()  # none: all
    kinds: tuple[str, ...] = KINDS
    start_fs: int = 0
    end_fs: int = ENDLESS

    def matches(self, names: Sequence[str]) -> np.ndarray:
        """bool[name] which parts, links and memory channels are selected, by their paths."""
        if not self.parts:
            return np.ones(len(names), bool)
        wanted = re.compile("|".join(_pattern(part) for part in self.parts))
        return np.array([wanted.fullmatch(name) is not None for name in names], bool)

    def overlaps(self, start_fs: np.ndarray, end_fs: np.ndarray) -> np.ndarray:
        """bool[n] which times, int64[n], are in part within those selected; an instant at the end is not."""
        return (start_fs < self.end_fs) & ((end_fs > self.start_fs) | (start_fs >= self.start_fs))

    def check(self, machine: Machine) -> None:
        """Check that each pattern means a part. Errors: InputError."""
        names = (*machine.node_name, *machine.server_name, *machine.station_name)
        for part in self.parts:
            wanted = re.compile(_pattern(part))
            if not any(wanted.fullmatch(name) for name in names):
                known = suggest(part, machine.node_name)
                raise InputError(f"{OPTION}: machine {machine.name} has no part {shorten(part)!r}{known}")


def read_filters(texts: Iterable[str], known: Sequence[str] = KINDS) -> TraceFilter:
    """The selection of texts such as "part=sip0.cube*", "kind=memory,counters", "time=1us..2us"; `known` are the kinds.

    Those of one key add up, and a trace holds what all keys select. Errors: InputError.
    """
    parts: list[str] = []
    kinds: list[str] = []
    span: tuple[int, int] | None = None
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not value or key not in ("part", "kind", "time"):
            raise InputError(f"{OPTION} {shorten(text)!r}: expected part=PATH, kind=KIND or time=START..END")
        if key == "part":
            parts += value.split(",")
        elif key == "kind":
            kinds += [_check_kind(kind, known) for kind in value.split(",")]
        elif span is None:
            span = _read_span(value)
        else:
            raise InputError(f"{OPTION} {shorten(text)!r}: a trace has one time; give time=START..END once")
    return TraceFilter(tuple(parts), tuple(kinds) or tuple(known), *(span or (0, ENDLESS)))


def _check_kind(kind: str, known: Sequence[str]) -> str:
    if kind not in known:
        raise InputError(f"{OPTION}: unknown kind {shorten(kind)!r}{suggest(kind, known)}")
    return kind


def _read_span(text: str) -> tuple[int, int]:
    """START..END, of which one may be left out, in fs; plain numbers are ns."""
    start, dots, end = text.partition("..")
    if not dots or not (start or end):
        raise InputError(f"{OPTION} {shorten('time=' + text)!r}: expected time=START..END, such as time=1us..2us")
    found = _read_time(start, text) if start else 0, _read_time(end, text) if end else ENDLESS
    if found[0] >= found[1]:
        raise InputError(f"{OPTION} {shorten('time=' + text)!r}: the end must be after the start")
    return found


def _read_time(text: str, whole: str) -> int:
    try:
        return min(max(round(parse(text, "ns") * FS_PER_NS), 0), ENDLESS)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{OPTION} {shorten('time=' + whole)!r}: {error}") from None


def _pattern(part: str) -> str:
    """A regular expression for a part and all below it, and for the links that begin there."""
    return re.escape(part).replace(r"\*", ".*") + r"([. ].*)?"
