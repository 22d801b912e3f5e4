"""Where compiled loops are kept between processes.

numba's own cache looks only at the file that holds a function: it does not see that a callee in another has changed,
and then runs old code. So the directory is named after a hash of every source of this package, of numba, of Python and of
the processor; an edit anywhere begins an empty directory. A read-only install falls back to the user's cache, and that to
a temporary directory: a loop compiles again sooner than an import fails. A directory that somebody else owns is passed
over, because to load compiled code is to run it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
KEEP_DAYS = 30  # directories of older sources are removed after this long without use
_DIGEST_BYTES = 32


def key(package: Path = PACKAGE) -> str:
    """The hash that names the cache directory: of all sources, of numba, numpy, Python and the kind of processor."""
    digest = hashlib.sha256(f"{sys.version} {version('numba')} {version('numpy')} {_processor()}".encode())
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def homes() -> Iterator[Path]:
    """Where the cache may live, best first: the user's choice, beside the sources, the user's cache, temporary."""
    if chosen := os.environ.get("KERNBENCH_CACHE"):
        yield Path(chosen) / "jit"
    yield PACKAGE / "__pycache__" / "jit"
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernbench" / "jit"
    yield Path(tempfile.gettempdir()) / f"kernbench-jit-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


@cache
def directory() -> Path:
    """The directory of this version of the loops, made if missing; the first home that can be written wins."""
    name = key()
    for home in homes():
        path = home / name
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not _is_ours(path):
                continue
            os.utime(path)
            tempfile.TemporaryFile(dir=path).close()
            _prune(home, name)
        except OSError:
            continue
        return path
    return Path(tempfile.mkdtemp(prefix="kernbench-jit-"))


def is_warm(function: str = "loop.run") -> bool:
    """Whether a function of this version, by module and name, has been compiled before.

    The event loop is the last thing that a first run compiles and holds all that it calls; if it has not been, the first run
    says that it compiles.
    """
    return any(unseal(path) is not None for path in directory().glob(f"{function}-*"))


def seal(path: Path, content: bytes) -> bytes:
    """What a file at `path` must hold so that `unseal` gives back the content."""
    return _digest(path, content) + content


def unseal(path: Path) -> bytes | None:
    """The content of a file that was sealed for this place, or None for one that is missing, damaged or foreign."""
    try:
        sealed = path.read_bytes()
    except OSError:
        return None
    content = sealed[_DIGEST_BYTES:]
    return content if sealed[:_DIGEST_BYTES] == _digest(path, content) else None


def _digest(path: Path, content: bytes) -> bytes:
    digest = hashlib.sha256(f"{path.parent.name}/{path.name}\n".encode())
    digest.update(content)
    return digest.digest()


def _processor() -> str:
    """What compiled code depends on of the processor, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            told = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        told = platform.processor()
    return f"{platform.machine()} {told}"


def _is_ours(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _prune(home: Path, current: str) -> None:
    too_old = time.time() - KEEP_DAYS * 86_400
    for path in home.iterdir():
        if path.name != current and path.is_dir() and path.stat().st_mtime < too_old:
            shutil.rmtree(path, ignore_errors=True)
