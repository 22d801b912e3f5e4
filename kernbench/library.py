"""The one finder of what users drop into folders: topologies, model sheets, benches, sweeps.

An explicit path wins; then `./<kind>/<name>.*` in the working directory; then what is shipped, which is the checkout's own
folder beside the package or, in a wheel, `kernbench/_library/<kind>`.
"""

from __future__ import annotations

from pathlib import Path

from kernbench.errors import InputError, suggest

SUFFIXES = {"topology": ".yaml", "models": ".yaml", "sweeps": ".yaml", "benches": ".py", "benches/ccl": ".py"}
_PACKAGE = Path(__file__).resolve().parent


def shipped() -> Path:
    """The folder that holds the shipped folders."""
    inside = _PACKAGE / "_library"
    return inside if inside.is_dir() else _PACKAGE.parent


def folders(kind: str) -> list[Path]:
    """Where files of a kind are looked for, best first."""
    return [folder for folder in (Path.cwd() / kind, shipped() / kind) if folder.is_dir()]


def find(kind: str, name: str | Path) -> Path:
    """The file of a kind by path or by name. Errors: InputError with the nearest known name."""
    suffix = SUFFIXES[kind]
    path = Path(name)
    if path.suffix == suffix or is_path(name):
        if path.is_file():
            return path.resolve()
        if is_path(name):
            raise InputError(f"no such file: {name}; give a path, or one of {', '.join(_typed(kind, path)) or 'none'}")
    stem = path.name.removesuffix(suffix)
    for folder in folders(kind):
        if (found := folder / f"{stem}{suffix}").is_file():
            return found.resolve()
    raise InputError(f"unknown {_SINGULAR[kind]} {str(name)!r}{suggest(path.name, _typed(kind, path))}")


def is_path(name: str | Path) -> bool:
    """Whether a name says where the file is: it has a directory, be it only `./`."""
    return len(Path(name).parts) > 1 or "/" in str(name)


def list_names(kind: str) -> list[str]:
    """The names of all files of a kind, sorted. Names that begin with "_" are not listed."""
    suffix = SUFFIXES[kind]
    return sorted({p.stem for folder in folders(kind) for p in folder.glob(f"*{suffix}") if p.name[0] not in "_."})


def list_replaced(kind: str) -> dict[str, Path]:
    """The files of the working directory that are found in place of shipped ones of their names, and differ from them."""
    found = (Path.cwd() / kind).glob(f"*{SUFFIXES[kind]}")
    return {path.stem: path for path in found if differs(path, shipped() / kind / path.name)}


def differs(path: Path, shipped: Path) -> bool:
    """Whether there is a shipped file beside another, and it holds something else."""
    return shipped.is_file() and path.read_bytes() != shipped.read_bytes()


def _typed(kind: str, like: Path) -> list[str]:
    """All names of a kind, with their suffix if the user typed his with it."""
    return [f"{name}{like.suffix}" if like.suffix == SUFFIXES[kind] else name for name in list_names(kind)]


def show_path(path: Path | str) -> str:
    """A path as messages show it: relative to the working directory if it is below it."""
    absolute = Path(path).absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute)


_SINGULAR = {
    "topology": "topology",
    "models": "model sheet",
    "sweeps": "sweep",
    "benches": "bench",
    "benches/ccl": "collective algorithm",
}
