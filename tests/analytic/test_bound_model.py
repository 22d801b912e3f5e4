"""Sheets against machines compiled anew, and against their runs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from kernbench.analytic import BoundModel, bounds
from kernbench.analytic.bound_model import read_points
from kernbench.errors import InputError
from tests.analytic.recording import BENCHES, record

BASE = {"noc.gbs": 256.0, "ucie.overhead_ns": 8.0}
KNOWN = {*BASE, "ucie.gbs", "hbm.channel_gbs"}


@pytest.mark.parametrize("kind", [dict, pl.DataFrame])
def test_fields_left_out_are_as_they_are(kind):
    values, count = read_points(kind({"noc.gbs": [1, 2, 3], "ucie.gbs": [4, 5, 6]}), BASE, KNOWN)
    assert count == 3
    assert {field: array.tolist() for field, array in values.items()} == {
        "noc.gbs": [1, 2, 3],
        "ucie.overhead_ns": [8, 8, 8],
    }


def test_one_value_is_for_all():
    values, count = read_points({"noc.gbs": np.arange(1, 3), "ucie.overhead_ns": 0}, BASE, KNOWN)
    assert count == 2
    assert values["ucie.overhead_ns"].tolist() == [0, 0]
    assert read_points({}, BASE, KNOWN)[1] == 1
    assert read_points({"noc.gbs": []}, BASE, KNOWN)[1] == 0


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (
            {"hbm.chanel_gbs": 3},
            "points vary 'hbm.chanel_gbs', which bounds do not follow; did you mean 'hbm.channel_gbs'?",
        ),
        ({"noc.gbs": [1, 0]}, "points give 'noc.gbs' the value 0; it must be more than 0"),
        ({"ucie.overhead_ns": -1}, "points give 'ucie.overhead_ns' the value -1; it must be at least 0"),
        ({"noc.gbs": float("nan")}, "points give 'noc.gbs' the value nan; it must be more than 0"),
        ({"noc.gbs": [[1]]}, "points give 'noc.gbs' in 2 dimensions; give one value a point"),
        (
            {"noc.gbs": [1, 2], "ucie.gbs": [1, 2, 3]},
            "points give 2 of 'noc.gbs', 3 of 'ucie.gbs'; give as many of each, or one for all points",
        ),
    ],
)
def test_mistakes_in_points(points, sentence):
    with pytest.raises(InputError) as caught:
        read_points(points, BASE, KNOWN)
    assert str(caught.value).startswith(sentence)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bounded():
    return BoundModel(record("matmul-composite").program)


def fs(ns):
    return round(ns * 1e6)


@pytest.mark.parametrize("bench", BENCHES)
def test_every_field_counts_as_in_a_machine_compiled_with_it(bench):
    bounded = BoundModel(record(bench).program)
    points = [{}] + [{field: base * 0.37 if base else 3.3} for field, base in bounded.figures.items()]
    points.append({field: base * 1.7 for field, base in bounded.figures.items()})
    for point in points:
        lower_ns, upper_ns, _ = bounded.evaluate(point).row(0)
        device = record(bench, point)
        device.run()
        exact = bounds(device.program)
        assert exact.upper_fs == fs(upper_ns)
        assert exact.lower_fs == fs(lower_ns)  # of paths too, because each field was looked at far from its base
        assert fs(lower_ns) <= device.session.now_fs <= fs(upper_ns)
        assert fs(lower_ns) >= 0.8 * device.session.now_fs


@pytest.mark.parametrize(
    "structure",
    [
        {"sips.count": 4, "sips.wiring": "direct"},
        {"sips.count": 4, "sips.topology": "torus_2d", "sips.wiring": "direct", "sip.io_chiplets": 2},
        {"sips.count": 3, "sip.io_chiplets": 2, "pcie_ep.store_and_forward": True},
    ],
)
def test_bounds_of_trays(structure):
    bounded = BoundModel(record("ccl-allreduce", structure).program)
    between = (
        {"sip_link.gbs", "sip_link.overhead_ns"}
        if "sips.wiring" in structure
        else {"pcie_ep.gbs", "switch.overhead_ns"}
    )
    assert between <= set(bounded.figures)
    for point in [{}, *({field: bounded.figures[field] * 0.37} for field in sorted(between))]:
        lower_ns, upper_ns, _ = bounded.evaluate(point).row(0)
        device = record("ccl-allreduce", {**structure, **point})
        device.run()
        exact = bounds(device.program)
        assert (exact.lower_fs, exact.upper_fs) == (fs(lower_ns), fs(upper_ns))
        assert fs(lower_ns) <= device.session.now_fs <= fs(upper_ns)


def test_what_varies(bounded):
    assert set(bounded.figures) > {
        "noc.gbs",
        "ucie.gbs",
        "pe_dma.gbs",
        "pcie_ep.gbs",
        "hbm.channel_gbs",
        "pe_gemm.tflops_f16",
        "pe_tcm.read_gbs",
        "pe_scheduler.overhead_ns",
        "ucie.overhead_ns",
    }
    assert bounded.figures["hbm.channel_gbs"] == 32
    clocked = BoundModel(record("matmul-composite", {"pe_cpu.dispatch_cycles": 40}).program)
    slow, fast = clocked.evaluate({"pe_cpu.clock_ghz": [0.5, 2]})["lower_ns"]
    assert slow - fast >= 40 * 1.5


def test_a_sheet_says_what_bounds_say(bounded):
    device = record("matmul-composite")
    assert bounded.bounds() == bounds(device.program)
    lower_ns, upper_ns, binding = bounded.evaluate({}).row(0)
    assert (fs(lower_ns), fs(upper_ns), binding) == (
        bounded.bounds().lower_fs,
        bounded.bounds().upper_fs,
        bounded.bounds().binding,
    )


def test_what_binds_changes(bounded):
    found = bounded.evaluate({"pe_gemm.tflops_f16": [0.01, 8], "hbm.channel_gbs": [32, 0.1]})
    gemm, hbm = found["binding"]
    assert gemm.startswith("critical path, most of it on gemm sip0.cube")
    assert "hbm_ctrl" in hbm or "dma" in hbm


def test_points_as_arrays_frames_and_single_values(bounded):
    array = {"noc.gbs": np.array([128, 256, 512]), "ucie.gbs": 64}
    model = pl.DataFrame({"noc.gbs": [128, 256, 512], "ucie.gbs": [64, 64, 64]})
    assert bounded.evaluate(array).equals(bounded.evaluate(model))
    assert len(bounded.evaluate({})) == 1
    assert bounded.evaluate(array).schema == {"lower_ns": pl.Float64, "upper_ns": pl.Float64, "binding": pl.String}
    assert len(bounded.evaluate({"noc.gbs": []})) == 0


def test_many_points_are_as_single_ones(bounded):
    rng = np.random.default_rng(0)
    points = {field: base * rng.uniform(0.1, 10, 70_000) for field, base in bounded.figures.items()}
    found = bounded.evaluate(points)
    for at in (0, 32_767, 32_768, 69_999):
        assert found.row(at) == bounded.evaluate({field: values[at] for field, values in points.items()}).row(0)


def test_a_field_of_no_effect_is_allowed(bounded):
    assert bounded.evaluate({"pe_math.elements_f32": 1}).equals(bounded.evaluate({}))


def test_after_a_row():
    device = record("vector-add")
    device.run()
    bounded, session = BoundModel(device.program, vary=False), device.session
    row = len(session.op_end_fs) // 2
    issue_fs, end_fs = bounded.after([row])
    known = end_fs >= 0
    assert known.any()
    assert (end_fs[known] <= session.op_end_fs[known] - session.op_issue_fs[row]).all()
    assert (issue_fs[known] <= session.op_issue_fs[known] - session.op_issue_fs[row]).all()


def test_the_old_name_is_taken_with_a_hint():
    from kernbench import analytic

    with pytest.warns(DeprecationWarning, match=r"kernbench\.analytic\.Sheet is now BoundModel"):
        assert analytic.Sheet is analytic.BoundModel
    with pytest.raises(AttributeError, match="no attribute 'Sheets'"):
        _ = analytic.Sheets
