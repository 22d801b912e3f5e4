"""States of a virtual channel: the table of the module, and that a virtual channel is in one state at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kernels_jit.credits import vc_states as states
from kernels_jit.layout.codes import NONE
from kernels_jit.layout.records import COPIES

LINK, OUTPUT_VC, CYCLE = 4096, 512, 10


def find_states(out_link: int, out_vc: int, ready: int) -> list[str]:
    """The states whose predicates hold. Only where no packet is forked is it asked whether one is active."""
    vc = SimpleNamespace(out_link=out_link, out_vc=out_vc, ready=ready)
    holds = {
        "idle": plain(states.is_vc_idle)(vc),
        "routing": plain(states.is_vc_routing)(vc, CYCLE),
        "vc_alloc": plain(states.is_vc_waiting)(vc, CYCLE),
        "forked": plain(states.is_vc_forked)(vc),
    }
    holds["active"] = plain(states.is_vc_active)(vc) and not holds["forked"]
    return [state for state, is_held in holds.items() if is_held]


def plain(function: Any) -> Any:
    """The function of Python that is compiled."""
    return getattr(function, "py_func", function)


@pytest.mark.parametrize(
    ("out_link", "out_vc", "ready", "state"),
    [
        (NONE, NONE, CYCLE - 1, "idle"),
        (NONE, NONE, CYCLE + 1, "idle"),
        (LINK, NONE, CYCLE + 1, "routing"),
        (LINK, NONE, CYCLE, "vc_alloc"),
        (LINK, OUTPUT_VC, CYCLE, "active"),
        (LINK, OUTPUT_VC, CYCLE + 1, "active"),
        (COPIES, OUTPUT_VC, CYCLE, "forked"),
    ],
)
def test_a_virtual_channel_is_in_one_state(out_link: int, out_vc: int, ready: int, state: str) -> None:
    assert find_states(out_link, out_vc, ready) == [state]
