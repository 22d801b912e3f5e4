from __future__ import annotations

import pytest

import kernbench


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
