"""Recorded once, run on many machines: against runs by themselves, to the last row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench import bench, run
from kernbench.errors import DeadlockError
from kernbench.machine.variants import Variants
from kernbench.runs.bench import find_bench
from kernbench.runs.recording import RecordedGroup, record
from tests.analytic.recording import BENCHES

FIELDS = sorted(Variants("tiny", {}).fields)
FIGURES = st.dictionaries(st.sampled_from(FIELDS), st.floats(0.05, 2000), min_size=1, max_size=6)


def recorded(name, base, **parameters):
    return record(find_bench(name), base, parameters, range(base.places.sip_count))


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHES)
@settings(max_examples=12, deadline=None)
@given(figures=FIGURES, mode=st.sampled_from(["hybrid", "flit"]))
def test_a_recording_runs_as_the_bench_does(name, figures, mode):
    variants = Variants("tiny", {})
    recording = recorded(name, variants.base, **BENCHES[name])
    variants.machine({field: value * 1.5 for field, value in figures.items()})
    machine = variants.machine(figures)
    session = recording.run(machine, mode)
    alone = run(name, "tiny", mode=mode, parameters=BENCHES[name], overrides=figures)
    other = alone.device.session
    for times in ("op_issue_fs", "op_start_fs", "op_end_fs"):
        assert np.array_equal(getattr(session, times), getattr(other, times)), times
    found = recording.list_metrics(machine, mode)
    assert found == {name: getattr(alone, name) for name in found}


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHES)
@settings(max_examples=8, deadline=None)
@given(
    points=st.lists(st.lists(st.floats(0.05, 2000), min_size=len(FIELDS), max_size=len(FIELDS)), max_size=4),
    data=st.data(),
)
def test_a_group_has_the_figures_of_single_runs(name, points, data):
    fields = data.draw(st.lists(st.sampled_from(FIELDS), unique=True, min_size=1, max_size=6))
    mode = data.draw(st.sampled_from(["hybrid", "flit"]))
    values = {field: np.array([point[at] for point in points]) for at, field in enumerate(fields)}
    variants = Variants("tiny", {})
    recording = recorded(name, variants.base, **BENCHES[name])
    found = [figures for some in RecordedGroup(recording, mode).list_metrics(values) for figures in some]
    machines = [
        variants.machine({field: float(column[at]) for field, column in values.items()}) for at in range(len(points))
    ]
    assert found == [recording.list_metrics(machine, mode) for machine in machines]


def test_one_recording_serves_machines_in_any_order():
    variants = Variants("tiny", {})
    recording = recorded("vector-add", variants.base)
    slow, fast = (variants.machine({"hbm.channel_gbs": gbs}) for gbs in (1, 100))
    once = [recording.list_metrics(machine)["latency_ns"] for machine in (variants.base, slow, fast)]
    again = [recording.list_metrics(machine)["latency_ns"] for machine in (fast, slow, variants.base)]
    assert once == again[::-1]
    assert once[1] > once[0] > once[2]


def small(torch):
    torch.launch("k", lambda x_ptr, tl: tl.store(x_ptr, tl.load(x_ptr, (8,), "f16")), torch.zeros((8,)))


@bench("waits-then-issues", "of a test")
def waits_then_issues(torch):
    small(torch)
    torch.synchronize()
    small(torch)


@bench("waits-at-the-end", "of a test")
def waits_at_the_end(torch):
    small(torch)
    torch.synchronize()


@bench("reads", "of a test")
def reads(torch):
    torch.zeros((8,)).numpy()


@bench("asks-the-time", "of a test")
def asks_the_time(torch):
    small(torch)
    torch.driven.session.now_fs  # noqa: B018


@bench("issues-nothing", "of a test")
def issues_nothing(torch):
    pass


@bench("fails", "of a test")
def fails(torch):
    raise ValueError("no")


@bench("looks", "of a test")
def looks(torch):
    figures = torch.driven.machine.figures
    if figures["noc.gbs"] + figures["pe_tcm.read_byte"] + figures["hbm.channels"] > 0:
        small(torch)


@pytest.mark.parametrize("function", [waits_then_issues, reads, asks_the_time, issues_nothing, fails])
def test_what_may_depend_on_a_run_is_not_recorded(function):
    assert recorded(function, Variants("tiny", {}).base) is None


def test_waiting_at_the_end_changes_nothing():
    base = Variants("tiny", {}).base
    recording = recorded(waits_at_the_end, base)
    assert recording.list_metrics(base)["latency_ns"] == run(waits_at_the_end, "tiny").latency_ns
    assert recording.looked_at == frozenset()


def test_a_recording_knows_which_figures_decided_it():
    assert recorded(looks, Variants("tiny", {}).base).looked_at == {"noc.gbs", "pe_tcm.read_gbs"}


def test_credits_of_messages_look_at_no_figure():
    recording = recorded("ccl-allreduce", Variants("tiny", {}).base, **BENCHES["ccl-allreduce"])
    assert recording.looked_at == frozenset()


def test_a_choice_among_algorithms_looks_at_the_figures_of_their_links_and_pes():
    recording = recorded("ccl-allreduce", Variants("tiny", {}).base, bytes_per_pe=256)
    assert {"ucie.gbs", "ucie.overhead_ns", "noc.gbs", "hbm.channel_gbs", "pe_math.elements_f16"} <= recording.looked_at
    assert not {"pe_gemm.tflops_f16", "m_cpu.overhead_ns"} & recording.looked_at
    sized = recorded("ccl-allreduce", Variants("tiny", {}).base, bytes_per_pe=256, slot_size=64)
    assert "pe_ipcq.overhead_ns" in sized.looked_at


def test_a_deadlock_is_an_error_of_each_run():
    @bench("stuck", "of a test")
    def stuck(torch):
        thread = torch.driven.program.thread("somebody")
        thread.wait(torch.driven.program.counter("nothing"), 1)
        small(torch)

    base = Variants("tiny", {}).base
    with pytest.raises(DeadlockError, match="nothing"):
        recorded(stuck, base).run(base)
