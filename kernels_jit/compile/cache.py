"""The directory of numba's cache: one for each version of the sources, with sealed files.

numba's own cache checks only the file of a function: it does not see that a callee in another file has changed,
and then runs old code. So the directory is named after a hash of every source of this package, of numba, of Python and of
the processor; an edit anywhere begins an empty directory. A read-only install falls back to the user's cache, and that to
a temporary directory: compiling a loop again is better than a failed import. A directory is skipped if others could have
written there (`ownership`); if the user chose it, a warning says why.

numba also trusts the files of its cache: a truncated file ends in a traceback, a damaged one in a crash. So each file has a
seal beside it, a digest of its name and content. A process removes files without a valid seal before numba looks, and seals
the files that it has compiled. Removed functions are compiled again.

Numba numbers the code files of a function by signature, and processes that compile different ones at once may give both the
same number: one is then run for the other. So functions are written to have one signature each, and one that has more is
not sealed. `find_ambiguous` lists these; tests require that there are none.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType

from kernels_jit.compile.ownership import find_stranger, find_stranger_below, make_private

PACKAGE = Path(__file__).resolve().parents[1]
KEEP_DAYS = 30  # directories of older sources are removed after this long without use
_ROOM_BYTES = 64 << 20  # free space required of a home
_SEAL = ".seal"


def key(package: Path = PACKAGE) -> str:
    """The hash that names the cache directory: of all sources, of numba, numpy, Python, the processor and CHECKED."""
    facts = sys.version, version("numba"), version("numpy"), _processor(), os.environ.get("KERNBENCH_CHECKED", "0")
    digest = hashlib.sha256(" ".join(facts).encode())
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def homes() -> Iterator[Path]:
    """The possible homes of the cache, in order: the user's choice, the user's cache, beside the sources, temporary."""
    if chosen := os.environ.get("KERNBENCH_CACHE"):
        yield Path(chosen) / "jit"
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernbench" / "jit"
    yield PACKAGE / "__pycache__" / "jit"
    yield Path(tempfile.gettempdir()) / f"kernbench-jit-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


@cache
def directory() -> Path:
    """The directory of this version of the loops, made if missing; the first writable home is used."""
    name = key()
    strangers: list[str] = []
    for home in homes():
        path = home / name
        try:
            make_private(path)
            if stranger := find_stranger(path):
                strangers.append(stranger)
                continue
            if shutil.disk_usage(path).free < _ROOM_BYTES:
                continue
            os.utime(path)
            tempfile.TemporaryFile(dir=path).close()
            _prune(home, name)
        except OSError:
            continue
        break
    else:
        path = Path(tempfile.mkdtemp(prefix="kernbench-jit-"))
    if strangers and ("KERNBENCH_CACHE" in os.environ or len(strangers) == len(list(homes()))):
        warnings.warn(
            f"compiled loops are not kept there: {strangers[0]}; give KERNBENCH_CACHE a directory that only you may write to",
            stacklevel=2,
        )
    drop_unsound(path)
    atexit.register(seal_files, path)
    return path


def filed_by_content(code: CodeType) -> CodeType:
    """The code of a function of this package, in the name of a copy of its file in the cache directory."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE):
        return code
    copy = directory() / "sources" / path.relative_to(PACKAGE)
    try:
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            _write(copy, path.read_bytes(), modified=0)  # older releases of numba compare when a file was modified
    except OSError:  # a full disk: other checkouts do not find what this one keeps
        return code
    return code.replace(co_filename=str(copy))


def is_warm(function: str = "loop.run") -> bool:
    """Whether a function of this version, by module and name, has been compiled before.

    The event loop is the last function that a first run compiles and holds all that it calls; if it has not been, the first
    run says that it compiles.
    """
    folder = directory()
    return any(is_sound(path, folder) for path in folder.rglob(f"{function}-*.nbi"))


def drop_unsound(folder: Path) -> None:
    """Remove the files of a cache directory that are not sound; nobody else can write into the directory."""
    for path in _files(folder):
        if not is_sound(path, folder):
            _seal_of(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def seal_files(folder: Path) -> None:
    """Seal the files that have been written to a cache directory. Files that cannot be sealed are compiled again next time."""
    with suppress(OSError):
        ambiguous = find_ambiguous(folder)
        for path in _files(folder):
            seal = _seal_of(path)
            if _function_of(path) in ambiguous:
                seal.unlink(missing_ok=True)
            elif not seal.exists() or seal.stat().st_mtime_ns < path.stat().st_mtime_ns:
                _write(seal, _digest(path, path.read_bytes()))


@cache
def seal_compiled() -> None:
    """Seal the files of this process at its first finished run; later files are sealed when the process ends."""
    seal_files(directory())


def find_ambiguous(folder: Path) -> set[Path]:
    """The functions in a cache directory that have been compiled for more than one signature, as paths without endings."""
    count = Counter(_function_of(path) for path in _files(folder) if path.suffix == ".nbc")
    return {function for function, files in count.items() if files > 1}


def is_sound(path: Path, folder: Path) -> bool:
    """Whether a file of a cache directory matches its seal, and nobody else could have written it."""
    try:
        return not find_stranger_below(folder, path) and _seal_of(path).read_bytes() == _digest(path, path.read_bytes())
    except OSError:  # another process may have removed it just now
        return False


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.nb[ic]") if path.is_file()]


def _function_of(path: Path) -> Path:
    """`f-12.py311` of the index `f-12.py311.nbi` and of the code `f-12.py311.1.nbc`."""
    return path.with_name(path.name.rsplit(".", 1 if path.suffix == ".nbi" else 2)[0])


def _seal_of(path: Path) -> Path:
    return path.with_name(path.name + _SEAL)


def _digest(path: Path, content: bytes) -> bytes:
    digest = hashlib.sha256(f"{path.parent.parent.name}/{path.parent.name}/{path.name}\n".encode())
    digest.update(content)
    return digest.digest()


def _write(path: Path, content: bytes, modified: int | None = None) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if modified is not None:
            os.utime(temporary, (modified, modified))
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too leaves no file behind
        os.unlink(temporary)
        raise


def _processor() -> str:
    """The properties of the processor on which compiled code depends, those that the system gives."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            told = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        told = platform.processor()
    return f"{platform.machine()} {told}"


def _prune(home: Path, current: str) -> None:
    too_old = time.time() - KEEP_DAYS * 86_400
    for path in home.iterdir():
        if path.name != current and path.is_dir() and path.stat().st_mtime < too_old:
            shutil.rmtree(path, ignore_errors=True)
