"""`kernbench show` of a Tanto program file: its kernels, pipes and buffers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernbench.cli.shown import Section, Shown
from kernbench.library import show_path
from kernbench.tanto.program_file import KERNEL_KINDS, PIPE_KINDS, load_program
from kernbench.text import plural


def show_program(name: str, prefix: str | None) -> Shown:
    """A program file. Errors: InputError as `load_program`, and for the prefix."""
    found, path = load_program(Path(name)), Path(name)
    kernels = [
        {"field": one.path, "kind": KERNEL_KINDS[one.kind], "cores": _ranges(one.ranges)} for one in found.kernels
    ]
    pipes = [
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
    buffers = [
        {"field": f"g{one.id}", "kind": "global", "format": one.fmt, "elements": f"{one.size:,}"}
        for one in found.globals
    ]
    buffers += [
        {"field": f"l{one.id}", "kind": "local", "format": one.fmt, "elements": f"{one.size:,}"}
        for one in (*found.device_locals, *found.locals)
    ]
    sections = [
        Section("", kernels, {"field": "kernel", "kind": "kind", "cores": "on cores"}),
        Section(
            "",
            pipes,
            {
                "field": "pipe",
                "kind": "kind",
                "format": "elements of",
                "tiles": "tiles",
                "frame": "tiles a frame",
                "cores": "on cores",
            },
        ),
        Section("", buffers, {"field": "buffer", "kind": "kind", "format": "elements of", "elements": "elements"}),
    ]
    said = ", ".join(
        plural(len(some), noun)
        for some, noun in ((kernels, "kernel"), (pipes, "pipe"), (buffers, "buffer"), (found.semaphores, "semaphore"))
    )
    data = {
        "name": path.stem,
        "kind": "tanto-program",
        "description": said,
        "file": str(path.resolve()),
        "fields": [*kernels, *pipes, *buffers],
    }
    place = show_path(path)
    remarks = [f"kernbench tanto run {place} runs it"]
    kept = [section for section in sections if section.rows]
    shown = Shown(path.stem, "Tanto program", said, place, kept, data, remarks=remarks)
    return shown.only(prefix) if prefix else shown


def _ranges(ranges: Iterable[tuple[int, int, int, int]]) -> str:
    return ", ".join(f"({left}, {top}) to ({right}, {bottom})" for left, top, right, bottom in ranges)
