"""Running a case in this process: through `kernbench.cli.main`, in a folder of its own, with both streams caught."""

from __future__ import annotations

import faulthandler
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from kernbench.library import shipped
from tests.fuzz.case import Case

ADDRESSES = 3 << 30  # bytes of address space beside what a worker begins with; KernBench refuses what would not fit
FILE_BYTES = 1 << 30  # of one file written
MOST_OUTPUT = 1 << 20  # characters of a stream that are looked at
STDERR = "stderr"  # the file of the stream in the folder of a worker
WORK = "/above/work/"  # below the folder of a case, so that ../ and ../../ lead to nothing of others
Command = Callable[[list[str]], int]


@dataclass
class Outcome:
    """What came of a case."""

    code: int | None = None  # None: an exception came out of the command line
    out: str = ""
    err: str = ""
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes | None] = field(default_factory=dict)  # None: a file that cannot be read
    peak_bytes: int = 0
    seconds: float = 0.0


class Catcher:
    """The streams of this process as files, so that what libraries write past Python is caught, too."""

    def __init__(self, folder: Path) -> None:
        self.files = [open(folder / name, "w+b", buffering=0) for name in ("stdout", STDERR)]  # noqa: SIM115
        self.saved = [os.dup(number) for number in (1, 2)]

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Let both streams lead into the files."""
        _flush()
        for number, file in enumerate(self.files, 1):
            file.seek(0)
            file.truncate()
            os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            _flush()
            for number, saved in enumerate(self.saved, 1):
                os.dup2(saved, number)

    def read(self) -> list[str]:
        """What has come."""
        return [os.pread(file.fileno(), MOST_OUTPUT, 0).decode(errors="replace") for file in self.files]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


def limit_process() -> None:
    """The limits of a process that runs cases."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (held + ADDRESSES, held + ADDRESSES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def be_strict() -> None:
    """Let what libraries warn of be an error, whose traceback has a place; a warning of KernBench's own is none."""
    warnings.filterwarnings("error", category=RuntimeWarning)
    warnings.filterwarnings("error", category=FutureWarning)
    warnings.filterwarnings("error", category=UserWarning)
    warnings.filterwarnings("always", category=UserWarning, module=r"kernbench\.|tests\.fuzz\.planted")


def execute(case: Case, parent: Path, catcher: Catcher, command: Command) -> Outcome:
    """Run a case in a new folder below another, which is removed."""
    outcome, begun = Outcome(), monotonic()
    folder = Path(tempfile.mkdtemp(dir=parent))
    work = folder / WORK.strip("/")
    work.mkdir(parents=True)
    case.write(work)
    outcome.before = case.files
    with _in_folder(work), _with_environment(case.environment), catcher.catching():
        _reset_peak()
        try:
            outcome.code = _apart(case, work) if case.apart else command(list(case.arguments))
        except SystemExit as ended:
            outcome.code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        outcome.peak_bytes = _read_peak()
    outcome.out, outcome.err = catcher.read()
    outcome.after = {
        path.relative_to(work).as_posix(): _content(path) for path in sorted(work.rglob("*")) if not path.is_dir()
    }
    if case.environment:  # caches may be anywhere below
        outcome.after = {name: content for name, content in outcome.after.items() if name in case.files}
    shutil.rmtree(folder)
    outcome.seconds = monotonic() - begun
    return outcome


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _apart(case: Case, work: Path) -> int:
    environment = {"PYTHONPATH": str(shipped()), **os.environ}
    command = [sys.executable, "-m", "kernbench", *case.arguments]
    return subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL).returncode


@contextmanager
def _in_folder(work: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(work)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _with_environment(environment: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _read_peak() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def watch_faults(file: Path) -> None:
    """Let a signal of death, and SIGUSR1, write to a file where Python is."""
    import signal

    held = open(file, "w", buffering=1)  # noqa: SIM115
    faulthandler.enable(held)
    faulthandler.register(signal.SIGUSR1, held, all_threads=True)
