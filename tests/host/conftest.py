"""A runtime context without a bench."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine

Make = Callable[..., RuntimeContext]


@pytest.fixture
def make() -> Make:
    def make_context(live: bool = False, **overrides: object) -> RuntimeContext:
        fields = {name.replace("__", "."): value for name, value in overrides.items()}
        machine = load_machine("tiny", fields)
        return RuntimeContext(Device(machine, RunOptions(live=live)), range(machine.places.sip_count), seed=0)

    return make_context
