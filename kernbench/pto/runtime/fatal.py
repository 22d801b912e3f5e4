"""Fatal errors of the runtime, with the codes of its public tests."""

from __future__ import annotations

from enum import IntEnum

from kernbench.errors import InputError, RunError


class FatalCode(IntEnum):
    """Why a runtime stops."""

    SCOPE_DEADLOCK = 1
    HEAP_RING = 2
    FLOW_CONTROL = 3
    DEP_POOL = 4
    INVALID_ARGS = 5
    SYNC_START = 7
    TENSOR_WAIT = 8
    EXPLICIT = 9
    SCHEDULER_TIMEOUT = 100


class FatalError(RunError):
    """The runtime stopped; `fatal_code` says why, and the text is what its log says."""

    code = "pto_fatal"

    def __init__(self, fatal_code: FatalCode, text: str) -> None:
        super().__init__(f"{text} (fatal code {int(fatal_code)})")
        self.fatal_code = fatal_code


class InvalidArgsError(FatalError, InputError):
    """Arguments that the runtime refuses: fatal code 5."""

    exit_code = 2
    code = "bad_input"

    def __init__(self, text: str) -> None:
        super().__init__(FatalCode.INVALID_ARGS, f"FATAL: invalid arguments: {text}")
