"""Hypothesis strategies for random machines and programs."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from tests.engine.random_programs import crowded, draw_machine

_SEEDS = st.integers(0, (1 << 32) - 1)


def machines():
    """Machines of few links and one memory."""
    return _SEEDS.map(lambda seed: draw_machine(Random(seed)))


def programs():
    """Crowded programs on such machines."""
    return _SEEDS.map(lambda seed: crowded(Random(seed)))
