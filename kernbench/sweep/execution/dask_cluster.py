"""Points on a Dask cluster: one that stands, or one of processes on this computer.

A task is a batch of points. Dask gives the tasks of a worker that died to others. A task that kills worker after worker comes
back and is cut into its points, and a point that still does so is given up. Only as many tasks are out as keep all workers
busy, so that neither this process nor the scheduler holds a sweep of a hundred thousand points at once. A row is taken from
each task once, and rows are kept here: workers write nothing.

Workers need KernBench, and the bench and topology files under the paths that they have here.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from kernbench.errors import InputError, RunError, shorten
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.process_pool import Outcomes, lost_row, script_hidden
from kernbench.sweep.execution.worker import RunPoint, attempt_all
from kernbench.sweep.row import Row

PROCESSES = "processes"
PROTOCOLS = ("tcp", "tls")  # of the addresses of schedulers
AHEAD = 3  # tasks out for each thread of a worker
CONNECT_S = 10  # for a connection, and again for an answer
NEEDED = "a Dask scheduler needs the package distributed; install kernbench[cluster]"


def run_on_cluster(batches: Iterable[Batch], run: RunPoint, scheduler: str, workers: int) -> Outcomes:
    """Run points on the cluster at an address, or on `workers` processes; yields each as it finishes, in no fixed order.

    `run` must be importable by its name. Errors: InputError where there is no such cluster or no package for it; RunError if
    the scheduler goes away.
    """
    waiting = iter(batches)
    with _open_client(scheduler, workers, run) as client:
        from distributed import as_completed

        out: dict[Any, Batch] = {}
        done: Any = as_completed(loop=client.loop)
        again: list[Batch] = []
        try:
            while True:
                with _told_apart(scheduler):
                    if not _fill(client, out, done, again, waiting, run):
                        return
                    future = next(done)
                    batch = out.pop(future)
                    try:
                        rows, cause = _take(future)
                    except OSError:
                        client.nthreads()  # fails if the scheduler is gone; else it was a worker, with rows it had made
                        again.append(batch)
                        continue
                if rows is not None:
                    yield from zip(batch.points, rows, strict=True)
                elif len(batch) > 1:
                    again += [Batch((point,), batch.alike) for point in batch.points]
                else:
                    yield batch.points[0], lost_row(batch.points[0], cause)
        finally:
            with suppress(OSError, RuntimeError):  # a cluster that is gone has nothing to cancel
                client.cancel(list(out))


def split_address(scheduler: str) -> tuple[str, int]:
    """The host and port of a scheduler's address. Errors: InputError for what is no such address."""
    with suppress(ValueError):  # of a port that is no number from 0 to 65535, or of half a pair of brackets
        parts = urlsplit(scheduler)
        if (
            parts.scheme in PROTOCOLS
            and parts.hostname
            and parts.port
            and parts.netloc == scheduler.partition("://")[2]
        ):
            return parts.hostname, parts.port
    raise InputError(
        f"scheduler {shorten(scheduler)!r} is none; give local, processes or an address such as tcp://localhost:8786"
    )


@contextmanager
def _told_apart(scheduler: str) -> Generator[None]:
    """Errors: RunError where the scheduler cannot be reached any more."""
    try:
        yield
    except OSError:
        raise RunError(
            f"the Dask scheduler {scheduler} went away; finished points are kept: run the same command again"
        ) from None


def _fill(
    client: Any, out: dict[Any, Batch], done: Any, again: list[Batch], waiting: Iterator[Batch], run: RunPoint
) -> bool:
    """Hand out tasks as far as workers have use for them; returns whether any is out."""
    threads: dict[str, int] = client.nthreads()  # by worker
    most = AHEAD * max(1, sum(threads.values()))
    while len(out) < most:
        batch = again.pop() if again else next(waiting, None)
        if batch is None:
            break
        future = client.submit(run_batch, run, batch, os.getcwd(), pure=False)
        out[future] = batch
        done.add(future)
    return bool(out)


def _take(future: Any) -> tuple[list[Row] | None, str]:
    """The rows of a task, or why there are none. Errors: OSError where it was lost with the scheduler."""
    if future.status == "finished":
        return future.result(), ""
    if future.status in ("cancelled", "lost"):
        raise ConnectionError(future.status)
    error = future.exception()
    return None, f"{type(error).__name__} on the cluster"


def run_batch(run: RunPoint, batch: Batch, directory: str) -> list[Row]:
    """The rows of a batch, made by a worker: in the directory of the sweep, if the worker has it."""
    with suppress(OSError):
        os.chdir(directory)
    return list(attempt_all(run, batch))


def _reach(scheduler: str) -> None:
    """Connect to an address, without Dask, which waits for minutes. Errors: InputError where nothing answers."""
    try:
        with socket.create_connection(split_address(scheduler), timeout=CONNECT_S) as connection:
            if scheduler.startswith("tcp") and not connection.recv(1):  # a scheduler speaks first
                raise ConnectionError("it hangs up")
    except (OSError, UnicodeError) as error:  # the latter of a name that no host can have
        raise _no_scheduler(scheduler, getattr(error, "strerror", None) or str(error)) from None


def _no_scheduler(scheduler: str, reason: str) -> InputError:
    return InputError(
        f"there is no Dask scheduler at {shorten(scheduler)!r} ({reason}); give local, processes or an address such as "
        "tcp://localhost:8786"
    )


@contextmanager
def _open_client(scheduler: str, workers: int, run: RunPoint) -> Generator[Any]:
    """A `distributed.Client`, whose methods have no types. Errors: InputError."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(NEEDED) from None
    with ExitStack() as stack:
        address: Any = scheduler
        if scheduler == PROCESSES:
            stack.enter_context(script_hidden(unless=run.__module__ == "__main__"))  # also where one is restarted
            # any free port for what it tells over HTTP: another sweep may be running
            quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
            options: dict[str, Any] = {"scheduler_kwargs": quiet, "silence_logs": logging.CRITICAL}
            cluster: Any = LocalCluster(n_workers=workers, threads_per_worker=1, **options)
            address = stack.enter_context(cluster)
        else:
            _reach(scheduler)
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT_S, set_as_default=False))
        except (OSError, ValueError, TypeError) as error:
            raise _no_scheduler(scheduler, f"{type(error).__name__} within {CONNECT_S} s") from None
        yield client
