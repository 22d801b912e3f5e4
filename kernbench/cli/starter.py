"""The end of a command that is the job of another program, as of the viewer: it ends when that program does.

The program holds the other end of the job's standard input. The system closes it when the program is gone, however it ended.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping

GRACE_S = 3.0  # for a job to end by itself
ENDED = 128 + signal.SIGTERM  # the exit code then, as after the signal


def end_with_starter(environment: Mapping[str, str]) -> None:
    """With `KERNBENCH_JOB=1` watch standard input in a thread, and end this process at its end; else do nothing."""
    if environment.get("KERNBENCH_JOB") == "1":
        threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    try:
        while os.read(0, 1):
            pass
    except OSError:  # it was never open
        return
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(ENDED)
