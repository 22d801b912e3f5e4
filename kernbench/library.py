"""Find files by name: topologies, model sheets, benches and sweeps, of the user or shipped.

An explicit path comes first; then `./<kind>/<name>.*` in the working directory; then the shipped files, in the folder beside
the package in a checkout or in `kernbench/_library/<kind>` in a wheel.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten, suggest

SUFFIXES = {
    "topology": ".yaml",
    "models": ".yaml",
    "sweeps": ".yaml",
    "benches": ".py",
    "benches/ccl": ".py",
    "benches/pto": ".py",
    "benches/workloads": ".yaml",
}
_WITHIN = {"sweeps": ("sweeps", "sweeps/pto")}  # the folders of a kind that has several
CODE = (
    "benches",
    "benches/ccl",
    "benches/pto",
    "benches/tanto",
    "benches/tanto/kernels",
    "benches/triton",
    "models",
)  # the folders that hold Python files
NOT_IN_RESULTS = {"api", "cli", "notebook.py", "report", "sweep", "web"}  # what no figure depends on
_SHIPPED = "_library"  # a wheel's benches, sheets and machines, which have digests of their own
_PACKAGE = Path(__file__).resolve().parent


def shipped() -> Path:
    """The parent of the shipped folders."""
    inside = _PACKAGE / "_library"
    return inside if inside.is_dir() else _PACKAGE.parent


def is_checkout() -> bool:
    """Whether the package stands in a checkout, beside the shipped folders."""
    return shipped() == _PACKAGE.parent


def folders(kind: str) -> list[Path]:
    """The folders in which files of a kind are searched, in order."""
    kinds = _WITHIN.get(kind, (kind,))
    return [folder for place in (Path.cwd(), shipped()) for one in kinds if (folder := place / one).is_dir()]


def code_folders() -> list[Path]:
    """The folders whose Python files are found by a name, of the working directory and shipped, without links."""
    return [folder.resolve() for kind in CODE for folder in folders(kind)]


def is_shipped_code(path: Path) -> bool:
    """Whether a file, links followed, stands in a folder of Python files that came with KernBench."""
    return path.resolve().parent in {(shipped() / kind).resolve() for kind in CODE}


def find(kind: str, name: str | Path) -> Path:
    """The file of a kind by path or by name. Errors: InputError with the nearest known name, or for what no name can hold."""
    suffix = SUFFIXES[kind]
    text = check_characters(str(name), f"the {_SINGULAR[kind]}")
    path = Path(text)
    if path.suffix == suffix or is_path(text):
        if is_file(path):
            return path.resolve()
        if is_path(text):
            raise InputError(
                f"no such file: {shorten(text)}; give a path, or one of {', '.join(_typed(kind, path)) or 'none'}"
            )
    stem = path.name.removesuffix(suffix)
    for folder in folders(kind):
        if is_file(found := folder / f"{stem}{suffix}"):
            return found.resolve()
    raise InputError(f"unknown {_SINGULAR[kind]} {shorten(text)!r}{suggest(path.name, _typed(kind, path))}")


def is_file(path: Path) -> bool:
    """Whether there is such a file; False also for what no file can be named, such as a thousand characters."""
    try:
        return path.is_file()
    except OSError:
        return False


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; False also for what none can be named."""
    try:
        return path.exists()
    except OSError:
        return False


def is_path(name: str | Path) -> bool:
    """Whether a name is a path: it has a directory, if only `./`."""
    return len(Path(name).parts) > 1 or "/" in str(name)


def list_names(kind: str) -> list[str]:
    """The names of all files of a kind, sorted. Names that begin with "_" are not listed."""
    suffix = SUFFIXES[kind]
    files = (path for folder in folders(kind) for path in folder.glob(f"*{suffix}"))
    return sorted({path.stem for path in files if path.name[0] not in "_." and is_file(path)})


def list_replaced(kind: str) -> dict[str, Path]:
    """The files of the working directory that replace shipped ones of the same name, and differ from them."""
    found = (path for path in (Path.cwd() / kind).glob(f"*{SUFFIXES[kind]}") if is_file(path))
    return {path.stem: path for path in found if differs(path, shipped() / kind / path.name)}


def differs(path: Path, shipped: Path) -> bool:
    """Whether a file replaces a shipped file with other contents, or with contents that cannot be read."""
    try:
        return shipped.is_file() and path.read_bytes() != shipped.read_bytes()
    except OSError:
        return True


def _typed(kind: str, like: Path) -> list[str]:
    """All names of a kind, with their suffix if the user typed one."""
    return [f"{name}{like.suffix}" if like.suffix == SUFFIXES[kind] else name for name in list_names(kind)]


def show_path(path: Path | str) -> str:
    """A path for messages: relative to the working directory if it is below it."""
    absolute = Path(path).absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute)


_SINGULAR = {
    "topology": "topology",
    "models": "model sheet",
    "sweeps": "sweep",
    "benches": "bench",
    "benches/ccl": "collective algorithm",
    "benches/pto": "bench of task graphs",
    "benches/workloads": "network",
}


@cache
def code_digest() -> str:
    """The digest of the sources that figures depend on: one for a checkout and the wheel that was built from it."""
    package = _PACKAGE
    sources = [*package.rglob("*.py"), *(package.parent / "kernels_jit").rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(sources):
        if path.is_relative_to(package) and path.relative_to(package).parts[0] in {*NOT_IN_RESULTS, _SHIPPED}:
            continue
        digest.update(f"{path.relative_to(package.parent).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()
