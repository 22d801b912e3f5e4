"""The words for modes, and the sentence for others."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.modes import RUN_MODES, Mode, check_mode


def test_a_mode_is_its_word() -> None:
    assert [f"{mode}" for mode in Mode] == ["hybrid", "flit", "analytic", "auto"]
    assert Mode.FLIT == "flit"


def test_other_modes_are_refused() -> None:
    check_mode("analytic", RUN_MODES)
    with pytest.raises(InputError, match=r"^unknown mode 'analytic'; known: flit, hybrid$"):
        check_mode("analytic")
    with pytest.raises(
        InputError, match=r"^unknown mode 'flits'; did you mean 'flit'\? Known: analytic, flit, hybrid$"
    ):
        check_mode("flits", RUN_MODES)
