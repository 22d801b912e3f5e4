"""The message that the first run compiles the loops."""

from __future__ import annotations

from kernbench.cli.screen import say


def announce_compiling() -> None:
    """Print to stderr that the loops will be compiled, if they will."""
    from kernbench.engine.jit_status import needs_compile

    if needs_compile():
        say("compiling the simulator, once (up to a minute; later runs start at once) ...", err=True)
