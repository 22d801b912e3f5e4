"""Power over time: it integrates to the energy of the run."""

from __future__ import annotations

import numpy as np
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.runs.result import RunResult
from tests.energy.round_sheet import read_slices, round_machine


@pytest.fixture(scope="module")
def result() -> RunResult:
    return kernbench.run("matmul-composite", topology="tiny")


@pytest.mark.parametrize("most", [1, 7, 256])
def test_the_bins_hold_the_energy_of_the_run_to_the_last_digit(result: RunResult, most: int) -> None:
    curve = result.power(most)
    assert curve is not None
    assert len(curve.dynamic_aj) <= most
    assert sum(curve.dynamic_aj) == result.dynamic_aj
    assert int(curve.length_fs.sum()) == round(result.makespan_ns * 1e6)
    energy = float((curve.dynamic_w + curve.static_w) @ curve.length_fs) * 1000
    assert energy == pytest.approx((result.dynamic_aj or 0) + (result.static_aj or 0), rel=1e-6)
    assert curve.peak_w >= (result.power_w or 0)


def test_the_mean_of_one_bin_is_the_mean_of_the_run(result: RunResult) -> None:
    curve = result.power(1)
    assert curve is not None
    assert curve.peak_w == pytest.approx(result.power_w)


def test_a_transfer_draws_power_while_it_is_under_way() -> None:
    """A read of 16 KiB at 35.6 pJ a byte, alone in its run: no power before it starts."""
    from kernbench.engine import Session
    from kernbench.oplog.causes import Times
    from kernbench.trace.power import find_power

    energy = read_slices(round_machine(), (0, 0, 0))
    program = energy.program
    session = Session(program)
    session.run()
    curve = find_power(
        energy.rows, Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs), session.now_fs, 4
    )
    assert curve is not None
    assert sum(curve.dynamic_aj) == 16384 * 35_600_000
    shares = np.array(curve.dynamic_aj) / curve.length_fs
    assert shares == pytest.approx(shares[0], rel=1e-3)


def test_bounds_have_no_power_over_time() -> None:
    bounds = kernbench.run("matmul-composite", topology="tiny", mode="analytic")
    with pytest.raises(InputError, match="analytic mode has no events, so it has no power over time; use mode hybrid"):
        bounds.power()
    assert bounds.tell_energy()["power"] is None
