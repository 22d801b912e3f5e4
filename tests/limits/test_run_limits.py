from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.limits import run_limits
from kernbench.limits.run_limits import NO_LIMITS, RunLimits, find_op_limit, read_limits, tell_s


@pytest.mark.parametrize(
    ("written", "seconds", "told"), [(90, 90.0, "90 s"), ("10 min", 600.0, "10 min"), ("1.5h", 5400.0, "90 min")]
)
def test_a_time_limit_has_a_unit_or_is_in_seconds(written: float | str, seconds: float, told: str) -> None:
    assert read_limits(written) == RunLimits(seconds)
    assert tell_s(seconds) == told


@pytest.mark.parametrize("written", ["0", "-1", "soon", "1e9", "nan", "5 days", True, "9" * 400])
def test_what_is_no_time_is_refused(written: float | str) -> None:
    with pytest.raises(
        InputError, match=r"^time limit: got .{1,62}, expected more than 0 seconds, alone or with s, min or h$"
    ):
        read_limits(written)


@pytest.mark.parametrize("written", [0, -5, True, 1.5])
def test_what_is_no_number_of_operations_is_refused(written: int) -> None:
    with pytest.raises(InputError, match=r"^op limit: got .+, expected a whole number of operations, 1 or more$"):
        read_limits(op_limit=written)


def test_without_a_limit_operations_are_as_many_as_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "find_free_bytes", lambda: 55_000_000)
    assert find_op_limit(NO_LIMITS) == (100_000, "what the free memory of this computer holds")
    assert find_op_limit(RunLimits(ops=7)) == (7, "the limit that was given")
