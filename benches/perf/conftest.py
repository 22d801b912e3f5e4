"""Fixtures of the benchmarks. Loops are compiled before anything is measured."""

from __future__ import annotations

from typing import Any

import pytest

from benches.perf.figures import Figures
from benches.perf.programs import warm_up
from tests.chromium import browser  # noqa: F401 - a fixture of the viewer's benchmark, as of its tests


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> None:
    warm_up()


@pytest.fixture
def figures(benchmark: Any) -> Figures:
    """Takes in what this benchmark finds."""
    return Figures(benchmark)
