"""What a first run says while it compiles the loops: on a terminal one line, renewed each second, else one each ten seconds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernbench.cli.screen import say

if TYPE_CHECKING:
    from kernbench.engine.jit_status import Compiling

LINE_S = 10


def announce_compiling() -> None:
    """Let stderr tell how far the simulator is compiled, whenever that takes more than a second."""
    from kernbench.engine.jit_status import listen

    listen(_Teller().tell)


class _Teller:
    """Tells what is compiled; remembers when it last printed a line."""

    def __init__(self) -> None:
        self._told_s = -LINE_S

    def tell(self, now: Compiling | None) -> None:
        """Print what is compiled now; None: nothing is any more."""
        is_terminal = sys.stderr.isatty() and sys.stderr is sys.__stderr__  # and no progress bar has taken it over
        if now is None:
            self._told_s = -LINE_S
            if is_terminal:
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()
        elif is_terminal:
            sys.stderr.write(f"\r\033[K{describe(now)}")
            sys.stderr.flush()
        elif now.seconds - self._told_s >= LINE_S:
            self._told_s = now.seconds
            say(describe(now), err=True)


def describe(now: Compiling) -> str:
    """A line on what is compiled."""
    if now.name is None:
        return f"waiting for another process that compiles the simulator, {now.seconds:.0f} s"
    done = f"{now.translated} of {now.functions} functions" if now.translated < now.functions else "machine code"
    return f"compiling the simulator, once: {now.name}, {done}, {now.seconds:.0f} s"
