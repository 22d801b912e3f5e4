"""Operands of one operation of a run, to find the operation that made a number wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError
from kernbench.oplog.log import find_note, order_rows

if TYPE_CHECKING:
    from kernbench.host.device.device import Device


def find_snapshots(device: Device, row: int) -> list[np.ndarray]:
    """The operands of a row of the op log as they were when it took them. Errors: InputError for a row without operands."""
    session = device.session
    rows = order_rows(session.program, session.op_start_fs, session.op_end_fs)
    if not 0 <= row < len(rows):
        raise InputError(f"the op log has no row {row}; it has rows 0 to {len(rows) - 1}")
    at = int(rows[row])
    note = find_note(session.program, at)
    if note is None or "inputs" not in note:
        name, _ = session.program.tags[int(session.program.op_tag[at])]
        raise InputError(
            f"row {row} of the op log, a {name!r}, takes no operands; rows whose params have 'inputs', and their stages, do"
        )
    return device.memory.find_operands(note)
