"""Faults are tried at random places and moments, new ones in each run.

`--seed` draws the same again, `--faults N` draws N times as many.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.engine.fresh import run_seed

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """How many times a fault is tried, as a multiple of what CI tries."""
    return int(request.config.getoption("--faults"))


@pytest.fixture
def random(request: pytest.FixtureRequest) -> Random:
    """The places and moments of this run's faults."""
    return Random(f"{run_seed()} {request.node.name}")


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let processes that a test starts hear Ctrl-C, also where the tests themselves run in the background and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
