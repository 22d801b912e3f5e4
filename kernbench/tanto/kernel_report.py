"""What a kernel file uses, what it may race on, and what it needs of L1, found without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.tanto.language.methods import PACKS
from kernbench.tanto.language.scope import Unit, Use
from kernbench.tanto.language.translate import translate
from kernbench.tanto.language.types import Object

SUFFIXES = (".cpp", ".cc", ".cxx", ".tanto")
_IN_L1 = ("local", "pipe", "semaphore")
_READS = ("read", "move")
# A call on a pipe, the one that has to come before, and what the call does to the pipe.
_NEEDS = (
    ("push_back", "reserve_back", "pushed"),
    ("pop_front", "wait_front", "popped"),
    ("write", "wait_front", "written from"),
    ("read", "reserve_back", "read into"),
)


@dataclass(frozen=True, slots=True)
class KernelReport:
    """A checked kernel file."""

    unit: Unit

    @property
    def kind(self) -> str:
        """What it is by what it uses: "math" or "dataflow"."""
        uses = self.unit.uses
        return "math" if any(use.kind == "math" for use in uses) else "dataflow"

    @property
    def methods(self) -> list[str]:
        """What it calls: `pipe.read`, `math.matmul`, `read_barrier` …"""
        return sorted({f"{use.kind}.{use.name}" if use.object else use.name for use in self.unit.uses})

    @property
    def l1(self) -> list[str]:
        """The parameters that take room in L1; how much the program says."""
        return [
            f"{p.name}: {p.type}" for p in self.unit.parameters if isinstance(p.type, Object) and p.type.kind in _IN_L1
        ]

    @property
    def may_race(self) -> list[str]:
        """Sentences on what the file does not wait for."""
        uses, found = self.unit.uses, self._missing()
        calls = {(use.object, use.name) for use in uses}
        pushed = [use for use in uses if use.kind == "pipe" and use.name == "push_back"]
        barrier = any(use.name == "read_barrier" for use in uses)
        for use in pushed:
            if not barrier and any((use.object, name) in calls for name in _READS):
                found.append(self._at(use, f"{use.object} is pushed, and the file has no read_barrier"))
        if self.kind == "math":
            waited = {name for name, call in calls if call == "wait_front"}
            written = {name for name, call in calls if call in ("push_back", "reserve_back")}
            pipes = [p for p in self.unit.parameters if isinstance(p.type, Object) and p.type.kind == "pipe"]
            for pipe in pipes:
                if pipe.name not in waited and pipe.name not in written:
                    found.append(
                        f"{self.unit.file}:{pipe.line}:{pipe.column}: {pipe.name} is never waited for under this name"
                    )
        writes = any(use.name in ("write", "write_mcast", "write_mcast_with_self") for use in uses)
        popped = [use for use in uses if use.name == "pop_front"]
        if self.kind == "dataflow" and writes and popped and not any(use.name == "write_barrier" for use in uses):
            found.append(self._at(popped[0], f"{popped[0].object} is popped, and the file has no write_barrier"))
        return found

    def _missing(self) -> list[str]:
        """Sentences on pipes that are used without the call that has to come before, under this name or any in a helper."""
        found, helpers = list[str](), len(self.unit.functions) > 1
        pipes = [use for use in self.unit.uses if use.kind == "pipe"]
        for call, needs, does in _NEEDS:
            users = {use.object: use for use in reversed(pipes) if use.name == call}
            for name, use in users.items():
                if not any(one.name == needs and (helpers or one.object == name) for one in pipes):
                    found.append(self._at(use, f"{name} is {does}, and the file has no {needs} of it"))
        return found

    def _at(self, use: Use, text: str) -> str:
        return f"{self.unit.file}:{use.line}:{use.column}: {text}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        unit = self.unit
        return {
            "file": unit.file,
            "kind": self.kind,
            "parameters": [f"{p.name}: {p.type}{'&' if p.reference else ''}" for p in unit.parameters],
            "compile_time": [f"{name}: {kind}" for name, kind in unit.params],
            "functions": unit.functions,
            "uses": self.methods,
            "packs": any(use.name in PACKS for use in unit.uses),
            "may_race": self.may_race,
            "l1": self.l1,
        }


def kernel_files(paths: Iterable[Path]) -> list[Path]:
    """The kernel files among paths; of a folder all below it with a known suffix. Errors: InputError if there are none."""
    found = list[Path]()
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
            if not inside:
                raise InputError(f"{show_path(path)} has no kernel files ({', '.join(SUFFIXES)})")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"no such file: {show_path(path)}")
    return found


def check_file(path: Path, defines: Mapping[str, str] | None = None) -> KernelReport:
    """The report of a kernel file. Errors: KernelSourceError; InputError for one in Python."""
    if path.suffix == ".py":
        raise InputError(
            f"{show_path(path)}: is a kernel in Python, which shows its mistakes when it runs; give a C++ file"
        )
    return KernelReport(translate(path, defines))
