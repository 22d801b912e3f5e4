"""Jobs of the viewer: commands of this installation, each in a process of its own, watched and ended by the server.

A job is `python -m kernbench …` without a shell. It tells its progress as lines of JSON on stderr
(`kernbench.cli.output.progress`), and its error there as on a terminal. Its standard input is a pipe of the server that
nothing is written to: when the server is gone, however it ended, the pipe is closed and the job ends itself.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

from kernbench.errors import InputError, KernBenchError, error_text
from kernbench.library import is_checkout, shipped

MOST_RUNNING = 2
MOST_KEPT = 20  # finished ones, which the page may still ask for
GRACE_S = 3.0  # until a job that is to end is killed
RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
KERNBENCH = (sys.executable, "-P", "-m", "kernbench")  # -P: no module of the working directory is imported
_ERROR = "error: "


@dataclass(slots=True)
class Job:
    """One command, and how far it has come."""

    id: str
    kind: str
    source: str  # what it was started for, by its name in URLs
    part: str  # of that source; "" for all of it
    arguments: tuple[str, ...]
    process: subprocess.Popen[str] = field(repr=False)
    state: str = RUNNING
    stage: str = "starting"
    share: float | None = None  # of the stage that is done; None: not known
    error: str | None = None
    result: str | None = None  # the source that shows what came out
    begun: float = field(default_factory=monotonic)
    seconds: float | None = None  # that it took; None while it runs
    thread: threading.Thread | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What the page is told."""
        seconds = monotonic() - self.begun if self.seconds is None else self.seconds
        told = {
            name: getattr(self, name) for name in ("id", "kind", "source", "part", "state", "stage", "share", "error")
        }
        return {**told, "result": self.result, "seconds": seconds, "command": show_command(self.arguments)}


def show_command(arguments: Sequence[str]) -> str:
    """The command as one would type it."""
    return shlex.join(["kernbench", *arguments])


class Jobs:
    """The jobs of a server, by their ids. No method waits for a job but `close`."""

    def __init__(self, command: Sequence[str] = KERNBENCH) -> None:
        """`command` is what arguments are given to."""
        self._command = command
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._ids = count(1)
        self._closed = False

    def list(self) -> list[dict[str, Any]]:
        """All jobs that are known, the latest last."""
        with self._lock:
            return [job.to_dict() for job in self._jobs.values()]

    def start(
        self,
        kind: str,
        source: str,
        part: str,
        arguments: Sequence[str],
        keep: Sequence[str],
        on_done: Callable[[], str | None],
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Start a command, or find it where it runs already for the same.

        `keep` are arguments that the reader is not shown; `on_done` is called in a thread when it has ended well, and returns
        the source that shows what came out; `environment` is added to that of this process.

        Errors: InputError if enough are running; those of the system as it words them.
        """
        with self._lock:
            running = [job for job in self._jobs.values() if job.state == RUNNING]
            same = next((job for job in running if (job.kind, job.source, job.part) == (kind, source, part)), None)
            if same is not None:
                return same.to_dict()
            if self._closed or len(running) >= MOST_RUNNING:
                raise InputError(f"{len(running)} jobs are running already; wait until one is done, or cancel one")
            process = _open([*self._command, *arguments, *keep], environment or {})
            job = Job(str(next(self._ids)), kind, source, part, tuple(arguments), process)
            self._jobs[job.id] = job
            self._forget()
            job.thread = threading.Thread(target=self._watch, args=(job, on_done), daemon=True)
            job.thread.start()
            return job.to_dict()

    def cancel(self, job_id: str) -> dict[str, Any]:
        """End a job; one that has ended stays as it is. Errors: InputError for an id of none."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                raise InputError("there is no such job any more")
            if job.state == RUNNING:
                job.state = CANCELLED
                _end(job.process)
            return job.to_dict()

    def close(self) -> None:
        """End all jobs and wait until they are gone."""
        with self._lock:
            self._closed = True
            left = [job for job in self._jobs.values() if job.process.poll() is None]
            for job in left:
                job.state = CANCELLED
                _end(job.process)
        for job in left:
            job.process.wait()
            if job.thread is not None:
                job.thread.join(GRACE_S)

    def _watch(self, job: Job, on_done: Callable[[], str | None]) -> None:
        said = deque[str](maxlen=1)
        assert job.process.stderr is not None
        with job.process.stderr as lines:
            for line in lines:
                if line.startswith("{"):
                    self._read_progress(job, line)
                elif line.startswith(_ERROR):
                    said.append(line.removeprefix(_ERROR).strip())
        code = job.process.wait()
        assert job.process.stdin is not None
        with suppress(OSError):
            job.process.stdin.close()
        result, error = None, None
        if code:
            error = said[0] if said else f"the command ended with exit code {code}"
        elif job.state == RUNNING:
            try:
                result = on_done()
            except KernBenchError as refusal:
                error = str(refusal)
            except Exception as bug:  # the last handler: the page shows a sentence
                error = f"this is a bug in kernbench: {error_text(bug)}"
        with self._lock:
            job.seconds = monotonic() - job.begun
            if job.state == RUNNING:
                job.state, job.error, job.result = (FAILED if error else DONE), error, result

    def _read_progress(self, job: Job, line: str) -> None:
        with suppress(ValueError, KeyError, TypeError):  # a bench may print such a line too
            told = json.loads(line)
            job.stage, job.share = str(told["stage"]), None if told["share"] is None else float(told["share"])

    def _forget(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.state != RUNNING]
        for job_id in ended[: max(0, len(ended) - MOST_KEPT)]:
            del self._jobs[job_id]


def _open(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """The process of a command in a session of its own: Ctrl-C on the viewer's terminal is the viewer's to answer."""
    found = {**os.environ, "KERNBENCH_JOB": "1", **environment}
    if is_checkout():  # which -P does not find in the working directory
        found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(shipped()), found.get("PYTHONPATH"))))
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=found,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(f"no process can be started: {error.strerror}") from None


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and kill it if it does not."""
    process.terminate()
    killer = threading.Timer(GRACE_S, process.kill)
    killer.daemon = True
    killer.start()
