"""A command with mistakes, which the fuzzer has to find: its argument says which."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from pathlib import Path

import click
import numpy as np

from kernbench.cli import main as command_line
from kernbench.errors import InputError


@click.command("planted")
@click.argument("what")
@click.option("--json", is_flag=True)
def command(what: str, json: bool) -> int:
    """Make the mistake that is asked for; else work."""
    return mistake(what)


def main(arguments: list[str]) -> int:
    """The command line of KernBench, with the command `planted`."""
    command_line.COMMANDS["planted"] = "Make a mistake."
    sys.modules["kernbench.cli.commands.planted"] = sys.modules[__name__]
    return command_line.main(arguments)


def mistake(what: str) -> int:
    """Make a mistake, or return an exit code that is one."""
    match what:
        case "bug":
            return {"known": 0}[what]
        case "hang":
            time.sleep(1000)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(3)
        case "fill":
            held = []
            while True:
                held.append(b"x" * (1 << 24))
                time.sleep(0.01)  # so that the watch looks before no address is left
        case "peak":
            bytearray(300 << 20)
        case "numpy":
            np.float64(1) / np.float64(0)
        case "code":
            return 7
        case "terminal":
            print("\x1b[31mred")
        case "half":
            Path("o").write_text("half")
            raise InputError("the input cannot be used")
        case "json":
            print('{"a": NaN}')
        case "svg":
            Path("a.svg").write_text("<svg>&</svg>")
        case "silent":
            return 2
        case "words":
            warnings.warn("a word to the user", stacklevel=1)
    return 0


def fail(arguments: list[str]) -> int:
    """A command line that answers each input with an exit code that is none."""
    return 7
