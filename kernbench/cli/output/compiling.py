"""What a first run says while it compiles the loops: on a terminal one line, renewed each second, else one each ten seconds.

A job of another program tells it as its stage.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from kernbench.cli.output.progress import is_job, write_stage
from kernbench.cli.output.screen import say

if TYPE_CHECKING:
    from kernbench.engine.jit_status import Compiling


def announce_compiling() -> None:
    """Let stderr tell how far the simulator is compiled, whenever that takes more than a second."""
    from kernbench.engine.jit_status import CompilingLines, describe, listen

    lines = CompilingLines(partial(say, err=True))

    def tell(now: Compiling | None) -> None:
        if is_job():
            if now is not None:
                write_stage(describe(now))
            return
        if not sys.stderr.isatty() or sys.stderr is not sys.__stderr__:  # a progress bar may have taken it over
            lines.tell(now)
            return
        sys.stderr.write("\r\033[K" + (describe(now) if now else ""))
        sys.stderr.flush()

    listen(tell)
