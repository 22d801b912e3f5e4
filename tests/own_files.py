"""Tests see what KernBench ships: benches, sheets, grids and machines of the user in a checkout are left out.

A checkout is a working directory, too, so these files get into the lists, and broken ones into warnings. If there are any,
the tests run in a copy of the checkout without them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ("benches", "models", "sweeps", "topology")


def find_own_files(root: Path = ROOT) -> list[str]:
    """The files of the library that git does not know, as paths from the root; none where there is no git."""
    return _list_files(root, "--others", "--", *LIBRARY)


def run_without(own: list[str], arguments: tuple[str, ...], here: Path) -> int:
    """Run pytest with these arguments in a copy of the checkout without some files; returns its exit code."""
    print(
        f"left out, since git does not know them ('git add' takes them in): {', '.join(own)}",
        file=sys.stderr,
        flush=True,
    )
    with _open_folder() as folder:
        copy = folder / ROOT.name
        for name in set(_list_files(ROOT, "--cached", "--others")) - set(own):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        compiled = {"KERNBENCH_CACHE": str(ROOT / "kernels_jit" / "__pycache__")}  # loops that are there are taken
        environment = {**compiled, **os.environ, "PYTHONPATH": str(copy)}
        command = [sys.executable, "-m", "pytest", *arguments]
        return subprocess.run(command, cwd=copy / here.relative_to(ROOT), env=environment, check=False).returncode


@contextmanager
def _open_folder() -> Iterator[Path]:
    """A folder for as long as the tests run: the same for each run of a checkout, since loops are compiled for a path.

    If it is there, another run has it or was killed; then the folder is a new one, and the loops are compiled again.
    """
    place = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()).resolve() / f"kernbench-tests-{place}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        folder = Path(tempfile.mkdtemp(prefix="kernbench-tests-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list_files(root: Path, *arguments: str) -> list[str]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--exclude-standard", *arguments], cwd=root, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(name for name in os.fsdecode(listed.stdout).split("\0") if name)
