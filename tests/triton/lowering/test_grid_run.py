"""Launches with a grid: recorded once or alone, live or recorded, in both modes, the rows and the times are the same."""

import numpy as np
import pytest

from kernbench.host.device.grid_run import GridRun
from kernbench.host.device.kernels import Kernels
from kernbench.machine.variants import Variants
from kernbench.runs.bench import find_bench
from kernbench.runs.recording import record
from tests.triton.rig import add, multiply, run

CASES = [
    pytest.param(add, {}, id="add"),
    pytest.param(add, {"n": 4096, "rule": "blocked"}, id="add-blocked"),
    pytest.param(multiply, {}, id="matmul"),
    pytest.param(multiply, {"m": 64, "n": 64, "k": 96, "stages": 3}, id="matmul-whole"),
    pytest.param(multiply, {"stages": 1}, id="matmul-unstaged"),
]


def rows(result):
    """The rows of a run and their times, without the asks of live kernels."""
    session = result.device.session
    return np.asarray(result.device.program.op), session.op_issue_fs, session.op_end_fs


@pytest.mark.parametrize(("which", "parameters"), CASES)
def test_recorded_once_equals_each_program_alone_to_the_byte(which, parameters, monkeypatch):
    together = run(which, parameters)
    real = Kernels.__init__

    def alone(self, *args):
        real(self, *args)
        self.records_together = False

    monkeypatch.setattr(Kernels, "__init__", alone)
    for one, other in zip(rows(together), rows(run(which, parameters)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("which", "parameters"), CASES)
def test_live_equals_recorded_and_flit_equals_hybrid(which, parameters):
    recorded = run(which, parameters, verify=True)
    live = run(which, parameters, verify=True, live=True)
    flit = run(which, parameters, mode="flit")
    assert recorded.verified
    assert live.verified
    assert recorded.latency_ns == live.latency_ns == flit.latency_ns
    assert recorded.pe_exec_ns == live.pe_exec_ns == flit.pe_exec_ns


def test_loads_run_ahead_by_the_stages_of_their_loop():
    times = [run(multiply, {"k": 512, "stages": stages}).pe_exec_ns for stages in (1, 2)]
    assert times[1] < times[0]


def test_programs_that_do_the_same_have_one_script(monkeypatch):
    found = []
    prepare = GridRun._record

    def noted(self, programs):
        prepare(self, programs)
        found.append((programs, len(self._scripts.scripts)))

    monkeypatch.setattr(GridRun, "_record", noted)
    run(multiply, {"m": 256, "n": 256, "k": 64})
    run(multiply, {"m": 250, "n": 256, "k": 64})
    run(add, {"n": 512 * 40 - 1})
    assert found == [(64, 1), (64, 2), (40, 2)]


def test_a_machine_of_other_figures_shares_the_recording():
    variants = Variants("tiny", {})
    recording = record(find_bench(multiply), variants.base, find_bench(multiply).parameters, range(1))
    faster = {"hbm.channel_gbs": 64.0, "pe_tcm.read_gbs": 1024.0}
    assert recording is not None
    shared = recording.list_metrics(variants.machine(faster))
    assert shared["pe_exec_ns"] == run(multiply, overrides=faster).pe_exec_ns < run(multiply).pe_exec_ns
