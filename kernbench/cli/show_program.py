"""`kernbench show` of a Tanto program file: its kernels, pipes and buffers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernbench.cli.shown import Row, Section, Shown
from kernbench.library import show_path
from kernbench.tanto.program_file import KERNEL_KINDS, PIPE_KINDS, ProgramSpec, load_program
from kernbench.text import plural

PIPE_COLUMNS = {
    "field": "pipe",
    "kind": "kind",
    "format": "elements of",
    "tiles": "tiles",
    "frame": "tiles a frame",
    "cores": "on cores",
}


def show_program(name: str, prefix: str | None) -> Shown:
    """A program file. Errors: InputError as `load_program`, and for the prefix."""
    found, path = load_program(Path(name)), Path(name)
    sections = [
        Section("", _kernels(found), {"field": "kernel", "kind": "kind", "cores": "on cores"}),
        Section("", _pipes(found), PIPE_COLUMNS),
        Section(
            "", _buffers(found), {"field": "buffer", "kind": "kind", "format": "elements of", "elements": "elements"}
        ),
    ]
    counts = [len(section.rows) for section in sections]
    nouns = ("kernel", "pipe", "buffer", "semaphore")
    said = ", ".join(map(plural, (*counts, len(found.semaphores)), nouns))
    data = {
        "name": path.stem,
        "kind": "tanto-program",
        "description": said,
        "file": str(path.resolve()),
        "fields": [row for section in sections for row in section.rows],
    }
    place = show_path(path)
    remarks = [f"kernbench tanto run {place} runs it"]
    kept = [section for section in sections if section.rows]
    shown = Shown(path.stem, "Tanto program", said, place, kept, data, remarks=remarks)
    return shown.only(prefix) if prefix else shown


def _kernels(found: ProgramSpec) -> list[Row]:
    return [{"field": one.path, "kind": KERNEL_KINDS[one.kind], "cores": _ranges(one.ranges)} for one in found.kernels]


def _pipes(found: ProgramSpec) -> list[Row]:
    return [
        {
            "field": f"p{one.id}",
            "kind": PIPE_KINDS[one.kind],
            "format": one.fmt,
            "tiles": str(one.tiles),
            "frame": str(one.frame),
            "cores": _ranges(one.ranges),
        }
        for one in found.pipes
    ]


def _buffers(found: ProgramSpec) -> list[Row]:
    named = [(f"g{one.id}", "global", one) for one in found.globals]
    named += [(f"l{one.id}", "local", one) for one in (*found.device_locals, *found.locals)]
    return [{"field": name, "kind": kind, "format": one.fmt, "elements": f"{one.size:,}"} for name, kind, one in named]


def _ranges(ranges: Iterable[tuple[int, int, int, int]]) -> str:
    return ", ".join(f"({left}, {top}) to ({right}, {bottom})" for left, top, right, bottom in ranges)
