"""Compiling beside the main thread: what comes of it, and signals that come meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from kernels_jit.compile.aside import call_aside
from kernels_jit.compile.jit import jit

COMMAND = """
import hashlib, sys
from kernbench.__main__ import main
from kernbench.cli.main import kernbench
from kernels_jit.compile.aside import call_aside

def compile(*_, **__):
    print("compiling", flush=True)
    call_aside(hashlib.pbkdf2_hmac, "sha256", b"", b"", 10**9)  # as LLVM: for minutes no line of Python

kernbench.main = compile
sys.argv[1:] = []
sys.exit(main())
"""


def test_what_is_called_aside_returns_and_raises_as_it_does_by_itself():
    assert call_aside(lambda *args, **kwargs: (args, kwargs), 1, two=2) == ((1,), {"two": 2})
    with pytest.raises(ZeroDivisionError):
        call_aside(lambda: 1 // 0)
    size = threading.stack_size()
    assert call_aside(threading.current_thread) is not threading.main_thread()
    assert threading.stack_size() == size


def test_in_another_thread_it_is_called_there():
    found = []
    thread = threading.Thread(target=lambda: found.append(call_aside(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_an_entry_point_is_compiled_aside():
    from numba.core import caching, event

    class Listener(event.Listener):
        def on_start(self, event):
            found.append(threading.current_thread().name)

        def on_end(self, event):
            pass

    def twice(number):
        return 2 * number

    found, compiled = [], jit(twice)
    compiled._cache = caching.NullCache()  # or it would be there when this test runs again
    with event.install_listener("numba:compile", Listener()):
        assert compiled(21) == 42
    assert set(found) == {"kernbench compiling"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_that_compiles(number, code):
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    command = [sys.executable, "-c", COMMAND]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, heard)
        assert process.stdout is not None
        assert process.stdout.readline() == "compiling\n"
        begun = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (code, "error: interrupted\n")
    assert time.monotonic() - begun < 20
