"""How a program is run, and who is told of it: the options that reach a run, in one record."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernbench.limits.run_limits import NO_LIMITS, RunLimits
from kernbench.modes import Mode

OnProgress = Callable[[int, int, int], object]  # (served, known, now_fs)
OnStage = Callable[[str], object]  # with what is done next
OnRuns = Callable[[float, int], object]  # runs that are done, with the share of that under way, and of how many


class Stage:
    """The progress of a run, for a callback."""

    def __init__(self, on_stage: OnStage) -> None:
        self._on_stage = on_stage
        self.text = "reading the bench"  # what is being done
        self._outer = self.text

    def __call__(self, text: str) -> None:
        """Begin another stage."""
        self.text = self._outer = text
        self._on_stage(text)

    @contextmanager
    def within(self, text: str) -> Generator[None]:
        """A stage for the block, within that under way. After an error it stays, so that a message can name it."""
        self.text = text
        self._on_stage(text)
        try:
            yield
            self.text = self._outer
        finally:
            self._on_stage(self._outer)


def _silent() -> Stage:
    return Stage(lambda _: None)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run, whatever its front-end; `stage` and `on_progress` are told how far it is.

    `verify`: numbers are computed and compared. `live`: kernels run step by step with their data. `device`: which SIPs, "all"
    or "sip:N". `count_waits`: what flits wait for is counted, on a machine with credits.
    """

    mode: str = Mode.HYBRID
    verify: bool = False
    live: bool = False
    device: str = "all"
    limits: RunLimits = NO_LIMITS
    count_waits: bool = False
    stage: Stage = field(default_factory=_silent, compare=False)
    on_progress: OnProgress | None = field(default=None, compare=False)
