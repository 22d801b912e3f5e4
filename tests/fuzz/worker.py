"""A worker: a process that runs cases one after another, and the watch over it, which ends it if one hangs or fills the memory.

A case costs milliseconds there, because the process starts only once. A worker that died is replaced.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic, sleep

from tests.fuzz.case import Case
from tests.fuzz.execution import STDERR, Catcher, Outcome, be_strict, execute, limit_process, watch_faults
from tests.fuzz.kinds import draw_case
from tests.fuzz.verdict import Finding, find_place, judge, place_of_fault

HANGS_S = 30.0
MOST_BYTES = 2 << 30  # of resident memory
RESTING_BYTES = 1 << 30  # a worker that keeps more between cases is replaced: caches of many machines are no finding
LOOK_S = 0.05
LEAVES_S = 10
START_S = 120  # until a worker is ready
COMPILER = "/numba/core/"
LONG, MANY = "is long", 500  # points of a sweep that may take longer than a case has
_POINTS = re.compile(r" mode: (?:up to )?([\d,]{1,20}) points")
COMMAND = "kernbench.cli.main:main"
Work = tuple[str, int] | Case  # a kind and seed, or the case itself


class Worker:
    """One process and the pipe to it. Close it at the end."""

    def __init__(
        self, results: Path, command: str = COMMAND, hangs_s: float = HANGS_S, most_bytes: int = MOST_BYTES
    ) -> None:
        self.results, self.command, self.hangs_s, self.most_bytes = results, command, hangs_s, most_bytes
        self._folder = Path(tempfile.mkdtemp(prefix="kernbench-fuzz-"))
        self._process: SpawnProcess | None = None

    def run(self, work: Work) -> Finding | None:
        """What is wrong with the outcome of a case, if anything is."""
        if self._process is None:
            self._start()
        self._pipe.send(work)
        ended = self._watch()
        if ended == LONG:
            self._end()
            return None
        if ended is None:
            try:
                finding, resting = self._pipe.recv()
            except (EOFError, ConnectionResetError):
                ended = "died"
            else:
                if resting > RESTING_BYTES:
                    self._leave()
                return finding
        if ended == "died":
            self._process.join()
            code = self._process.exitcode or 0
            ended = f"the process died of signal {-code}" if code < 0 else f"the process ended itself with code {code}"
            place = place_of_fault(self._faults.read_text())
        else:
            place = place_of_fault(self._ask_place())
        self._end()
        return Finding(ended.split(" (")[0], place, ended)

    def close(self) -> None:
        """End the process and remove its folder."""
        self._leave()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._faults = self._folder / "faults"
        self._faults.touch()
        self._process = context.Process(target=_serve, args=(theirs, self._folder, self.results, self.command))
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START_S):
            self._end()
            raise TimeoutError(f"a worker was not ready after {START_S} s")
        self._pipe.recv()

    def _watch(self) -> str | None:
        """Wait for an answer; else what is wrong. To compile a loop, which a machine does once, is not to hang.

        Nor is a sweep of many points, which says how many: it is `LONG`.
        """
        ends = monotonic() + self.hangs_s
        while not self._pipe.poll(LOOK_S):
            if monotonic() > ends:
                if self._counts_many():
                    return LONG
                if COMPILER not in self._ask_place():
                    return f"hangs ({self.hangs_s:.0f} s)"
                ends = monotonic() + self.hangs_s
            if (held := _resident(self._process.pid)) > self.most_bytes:
                return f"memory ({held >> 20} MB)"
        return None

    def _counts_many(self) -> bool:
        """Whether the case that runs has said on stderr that it is a sweep of many points."""
        told = (self._folder / STDERR).read_text(errors="replace")
        return any(int(count.replace(",", "")) > MANY for count in _POINTS.findall(told))

    def _ask_place(self) -> str:
        """Where the threads of the process are, as faulthandler writes it."""
        known = self._faults.stat().st_size
        os.kill(self._process.pid or 0, signal.SIGUSR1)
        sleep(0.5)
        return self._faults.read_text()[known:]

    def _leave(self) -> None:
        """Let the process end by itself, so that it keeps what it compiled."""
        if self._process is not None:
            self._pipe.close()
            self._process.join(LEAVES_S)
            self._end()

    def _end(self) -> None:
        """Kill the process and those that it started."""
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        except ProcessLookupError:
            self._process.kill()
        self._process.join()
        self._pipe.close()
        self._process = None


def _resident(pid: int | None) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _serve(pipe: Connection, folder: Path, results: Path, command: str) -> None:
    """Run cases that come, until the pipe is closed."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    watch_faults(folder / "faults")
    module, _, name = command.partition(":")
    function = getattr(import_module(module), name)
    catcher = Catcher(folder)
    be_strict()
    limit_process()
    pipe.send("ready")

    def run(case: Case) -> Outcome:
        return execute(case, folder, catcher, function)

    while True:
        try:
            work = pipe.recv()
        except EOFError:
            return
        case = work if isinstance(work, Case) else draw_case(*work, results)
        finding = judge(case, run(case))
        if finding and finding.is_nameless:
            finding = find_place(finding, case, run)
        pipe.send((finding, _resident(os.getpid())))
