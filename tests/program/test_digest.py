from __future__ import annotations

import pytest

import kernbench
from kernbench.machine.intents import Intent, RouteKind


def digest(**options: object) -> str:
    return kernbench.run("gemm-single-pe", "tiny", **options).program_digest  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_digest_is_of_what_a_program_does_and_not_of_the_machine() -> None:
    one = digest(parameters={"M": 32})
    assert len(one) == 16
    assert digest(parameters={"M": 32}) == one
    assert digest(parameters={"M": 32}, overrides={"hbm.channel_gbs": 8}) == one
    assert digest(parameters={"M": 32}, mode="analytic") == one
    assert digest(parameters={"M": 64}) != one


@pytest.mark.slow
def test_a_digest_does_not_know_what_ran_before() -> None:
    one = digest(parameters={"M": 32})
    machine = kernbench.load_machine("tiny", {"hbm.channel_gbs": 9})
    machine.routing.route(
        machine.places.pe(0, 0, 1).dma, machine.places.hbm(0, 1, 0), Intent.PE_DMA, RouteKind.READ
    )  # takes the first number
    assert digest(parameters={"M": 32}, overrides={"hbm.channel_gbs": 9}) == one
