"""Where compiled loops are kept between processes.

numba's own cache looks only at the file that holds a function: it does not see that a callee in another has changed,
and then runs old code. So the directory is named after a hash of every source of this package, of numba and of Python;
an edit anywhere begins an empty directory. A read-only install falls back to the user's cache, and that to a temporary
directory: a loop compiles again sooner than an import fails.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
KEEP_DAYS = 30  # directories of older sources are removed after this long without use


def key(package: Path = PACKAGE) -> str:
    """The hash that names the cache directory: of all sources, of numba, of numpy and of Python."""
    digest = hashlib.sha256(f"{sys.version} {version('numba')} {version('numpy')}".encode())
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


def directory() -> Path:
    """The directory of this version of the loops, made if missing; the first home that can be written wins."""
    name = key()
    for home in homes():
        path = home / name
        try:
            path.mkdir(parents=True, exist_ok=True)
            os.utime(path)
            tempfile.TemporaryFile(dir=path).close()
        except OSError:
            continue
        _prune(home, name)
        return path
    return Path(tempfile.mkdtemp(prefix="kernbench-jit-"))


def is_warm(module: str = "loop") -> bool:
    """Whether a module of this version has been compiled before; if not, the first run says that it compiles."""
    return next(directory().rglob(f"{module}.*.nbi"), None) is not None


def _prune(home: Path, current: str) -> None:
    too_old = time.time() - KEEP_DAYS * 86_400
    for path in home.iterdir():
        if path.name != current and path.is_dir() and path.stat().st_mtime < too_old:
            shutil.rmtree(path, ignore_errors=True)
