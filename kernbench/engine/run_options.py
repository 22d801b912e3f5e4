"""How a program is run, and who is told of it: the options that reach a run, in one record."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernbench.engine.progress import OnProgress, Stage
from kernbench.limits.run_limits import NO_LIMITS, RunLimits
from kernbench.modes import Mode


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
