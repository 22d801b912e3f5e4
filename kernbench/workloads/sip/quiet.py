"""Whether nothing is under way where a launch begins: what the times of equal layers and equal ranks rest on.

Each launch leaves the host when the one before has completed, and ranks come together before and after each collective. What
may still be under way then are messages that no kernel waits for: credits for the last slots of queues. Without bytes they take
no link, so they may arrive during the launch that follows; with bytes they would meet other messages in other layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import Op

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.host.device.launch import Launch


def is_quiet(session: Session, launches: Sequence[Launch]) -> bool:
    """Whether nothing is under way where these launches leave the host."""
    issue_fs, end_fs = session.op_issue_fs, session.op_end_fs
    begins = np.unique([launch.left_fs(issue_fs) for launch in launches])
    op = session.program.op
    works, sends_nothing = np.isin(op[:, 0], (Op.EXEC, Op.MOVE)), (op[:, 0] == Op.MOVE) & (op[:, 2] == 0)
    begun = np.searchsorted(begins, end_fs, "left") - np.searchsorted(
        begins, issue_fs, "right"
    )  # while a row was under way
    return bool((begun[works] <= sends_nothing[works]).all())
