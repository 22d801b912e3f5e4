"""Fits of machines to measurements that another machine made."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import kernbench
from kernbench.errors import InputError, LimitError
from kernbench.fitting.fit import fit_machine
from kernbench.frontends.run import run_bench
from kernbench.machine import load_machine
from kernbench.machine.sheets.field_values import show_topology
from tests.fitting.rig import HIDDEN, RATES, measure, named, write_benches, write_flows

NEAR, FAR = "sip0.cube0.pe0", "sip0.cube1.pe0"
FLOWS = [f"{NEAR}:{FAR}:{size}" for size in (64, 256, 4096, 65536)] + [
    f"{NEAR}:sip0.cube0.pe1:{size}" for size in (64, 65536)
]
TWO = {"ucie.gbs": 60.0, "ucie.overhead_ns": 21.0}


@pytest.fixture
def flows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_flows(tmp_path / "flows.csv", FLOWS, TWO)


@pytest.mark.slow
def test_figures_come_back_from_measurements_without_noise(flows):
    found = fit_machine("tiny", flows, fields=list(TWO), workers=1)
    assert found.values == pytest.approx(TWO, rel=1e-3)
    assert found.before.mean > 0.1 > 1e-4 > found.after.mean
    assert found.held_out is None or found.held_out.mean < 1e-3
    assert not found.undetermined
    assert found.times_ns == pytest.approx([row.time_ns for row in found.measured.rows], rel=1e-4)


def _fifty_rows() -> list[tuple[str, Mapping[str, object]]]:
    """Benches and flows that six figures decide: eight or nine rows for each."""
    shapes = [(256, 256, 512), (512, 256, 256), (256, 512, 256), (128, 512, 512), (512, 512, 128), (256, 256, 256),
              (512, 512, 256), (384, 256, 512), (256, 384, 384)]  # fmt: skip
    rows: list[tuple[str, Mapping[str, object]]] = [("gemm-single-pe", {"M": m, "N": n, "K": k}) for m, n, k in shapes]
    rows += [("vector-add", {"n": n << 15}) for n in (2, 3, 4, 6, 8, 10, 12, 14, 16)]
    rows += [
        (f"{NEAR}:{to}:{size}:{kind}", {"bytes": ""})
        for to, sizes in (
            (FAR, (65536, 98304, 131072, 262144)),
            (FAR, (64, 128, 192, 256)),
            ("sip0.cube0.pe1", (16384, 32768, 65536, 131072)),
        )
        for size in sizes
        for kind in ("read", "write")
    ]
    rows += [
        (f"sip0.io0.io_cpu:sip0.cube{cube}.pe{pe}:{size}", {"bytes": ""})
        for cube in (0, 1)
        for pe in (0, 1)
        for size in (64, 256)
    ]
    assert len(rows) == 50
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_six_hidden_figures_come_back_from_50_points_with_noise_of_3_per_cent_as_near_as_their_intervals(
    tmp_path, seed
):
    """Within 1 % where the noise lets them, three of eight seeds: no fit of these rows knows more (docs/fit.md)."""
    data = write_benches(tmp_path / "measured.csv", _fifty_rows(), HIDDEN, noise=0.03, seed=seed)
    found = fit_machine("tiny", data, fields=named(HIDDEN))
    off = {one.field: abs(one.value / HIDDEN[one.field] - 1) for one in found.figures}
    assert all(off[one.field] < 1.2 * one.share < 0.03 for one in found.figures)
    assert sum(off.values()) / 6 < 0.01
    if seed == 1:
        assert found.values == pytest.approx(HIDDEN, rel=0.01)
        assert 0.01 < found.after.mean < found.held_out.mean < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5])
def test_six_hidden_figures_come_back_within_1_per_cent_if_a_point_is_the_mean_of_nine_measurements(tmp_path, seed):
    data = write_benches(tmp_path / "measured.csv", _fifty_rows(), HIDDEN, noise=0.03, seed=seed, repeats=9)
    found = fit_machine("tiny", data, fields=named(HIDDEN))
    assert found.values == pytest.approx(HIDDEN, rel=0.01)
    assert all(one.share < 0.01 for one in found.figures)


@pytest.mark.slow
def test_slopes_of_a_row_add_up_to_1_at_most():
    """So all rows together tell six figures to a sixth of them each: the limit that docs/fit.md states."""
    slower = {name: value / 1.01 if name.split(".")[1] in RATES else value * 1.01 for name, value in HIDDEN.items()}
    for row in _fifty_rows()[::7]:
        assert 1 < measure(row, slower) / measure(row, HIDDEN) < 1.0101


@pytest.mark.slow
def test_what_the_measurements_do_not_determine_keeps_its_value_and_is_named(flows):
    fields = ["ucie.gbs=40..200", "ucie.overhead_ns", "pe_gemm.tflops_f16", "m_cpu.overhead_ns=1..9"]
    found = fit_machine("tiny", flows, fields=fields, workers=1)
    assert set(found.values) == set(TWO)
    assert dict(found.undetermined) == dict.fromkeys(
        ("pe_gemm.tflops_f16", "m_cpu.overhead_ns"), "no measured time follows from it, wherever in its range it is"
    )


@pytest.mark.slow
def test_figures_that_only_count_together_are_named_with_each_other(tmp_path):
    hidden = {"pe_cpu.overhead_ns": 30.0, "pe_scheduler.overhead_ns": 20.0}
    data = write_flows(tmp_path / "flows.csv", FLOWS, hidden, noise=0.01)
    fields = ["pe_cpu.overhead_ns=1..200", "pe_scheduler.overhead_ns=0.5..200"]
    found = fit_machine("tiny", data, fields=fields, workers=1)
    ((left, why),) = found.undetermined
    ((moved, _),) = found.values.items()
    assert {left, moved} == set(hidden)
    assert why == f"the times tell it only together with {moved} (correlation of the slopes +1.00)"


@pytest.mark.slow
def test_a_figure_stays_inside_its_range_and_the_end_is_told(flows):
    found = fit_machine("tiny", flows, fields=["ucie.gbs=100..200", "ucie.overhead_ns"], workers=1)
    assert found.values["ucie.gbs"] == pytest.approx(100, rel=1e-3)
    assert found.remarks[0].startswith(
        "ucie.gbs is at the end of its range, 100 to 200 GB/s: the measurements would have"
    )


@pytest.mark.slow
def test_a_range_of_the_topology_holds(flows, tmp_path):
    text = (kernbench.library.shipped() / "topology/tiny.yaml").read_text()
    stated = 'ucie:\n  gbs: {value: 128, unit: GB/s, range: [90, 140], source: "chosen: here"}\n'
    (tmp_path / "mine.yaml").write_text(text + stated)
    found = fit_machine("mine.yaml", flows, fields=list(TWO), workers=1)
    assert (found.figures[0].low, found.figures[0].high) == (90, 140)
    assert found.values["ucie.gbs"] == pytest.approx(90, rel=1e-3)


@pytest.mark.slow
def test_the_machine_file_runs_and_says_where_its_figures_are_from(flows, tmp_path):
    found = fit_machine("tiny", flows, fields=list(TWO), overrides={"pe.tile_m": 16}, workers=1)
    found.write(tmp_path / "fitted.yaml")
    text = (tmp_path / "fitted.yaml").read_text()
    assert text.startswith("# Fitted to flows.csv from tiny.yaml: 6 points, mean error 0.0%")
    assert "# A machine small enough to work out by hand" in text  # comments are kept
    machine = load_machine("fitted.yaml")
    assert machine.figures["ucie.gbs"] == found.values["ucie.gbs"]
    shown = {one.path: one for one in show_topology("fitted.yaml").all_fields}
    assert shown["ucie.gbs"].source.startswith("fitted to flows.csv, 6 points, ± ")
    assert shown["ucie.gbs"].range is not None
    assert shown["pe.tile_m"].value == 16
    result = run_bench("pe-to-pe", tmp_path / "fitted.yaml")
    again = run_bench("pe-to-pe", "tiny", overrides={**found.values, "pe.tile_m": 16})
    assert result.latency_ns == again.latency_ns


@pytest.mark.slow
def test_kernel_times_and_fields_of_a_row_count(tmp_path):
    lines = ["bench,M,topology.noc.gbs,pe_exec_us"]
    for size, gbs in ((64, 64), (64, 256), (128, 256)):
        overrides = {"noc.gbs": gbs, "pe_gemm.tflops_f16": 5}
        ran = run_bench("gemm-single-pe", "tiny", parameters={"M": size}, overrides=overrides)
        lines.append(f"gemm-single-pe,{size},{gbs},{ran.pe_exec_ns / 1000:.9f}")
    (tmp_path / "data.csv").write_text("\n".join(lines))
    found = kernbench.fit("tiny", tmp_path / "data.csv", fields=["pe_gemm.tflops_f16"], workers=1)
    assert found.values == pytest.approx({"pe_gemm.tflops_f16": 5}, rel=1e-3)
    assert "pe_gemm.tflops_f16 8 → 5" in repr(found)
    assert "pe_gemm.tflops_f16" in found._repr_html_()


@pytest.mark.slow
def test_a_field_that_decides_more_than_times_is_fitted_by_compiling(tmp_path):
    hidden = {"hop_ns": 3.0}
    texts = [f"node[0][0]:node[{x}][0]:256" for x in range(1, 5)]
    data = write_flows(tmp_path / "flows.csv", texts, hidden, topology="mesh_8x8")
    found = fit_machine("mesh_8x8", data, fields=["hop_ns"], workers=1)
    assert found.values == pytest.approx(hidden, rel=1e-3)
    text = found.machine_text()
    assert "hop_ns:\n  value: 3.0\n  unit: ns\n" in text
    assert "link_gbs: 256\n" in text


@pytest.mark.slow
def test_flows_of_one_run_share_links(tmp_path):
    load = load_machine("tiny", {"ucie.gbs": 60})
    from kernbench.traffic.flows import parse_flows
    from kernbench.traffic.run import run_flows

    texts = [f"{NEAR}:{FAR}:65536", f"sip0.cube0.pe1:{FAR}:65536", f"{NEAR}:{FAR}:4096"]
    times = (
        run_flows(load, parse_flows(texts[:2])).latency_fs.tolist()
        + run_flows(load, parse_flows(texts[2:])).latency_fs.tolist()
    )
    assert times[0] != run_flows(load, parse_flows(texts[:1])).latency_fs[0]  # they meet
    rows = [f"{text.replace(':', ',')},{run},{time / 1e6}" for text, run, time in zip(texts, "aab", times, strict=True)]
    (tmp_path / "data.csv").write_text("src,dst,bytes,run,time_ns\n" + "\n".join(rows))
    found = fit_machine("tiny", tmp_path / "data.csv", fields=["ucie.gbs"], workers=1)
    assert found.values == pytest.approx({"ucie.gbs": 60}, rel=1e-3)


@pytest.mark.slow
def test_benches_of_tanto_programs_are_fitted(tmp_path):
    lines = ["bench,tiles,time_ns"]
    for tiles in (8, 16):
        ran = run_bench(
            "tanto-unary", "tensix_tiny", parameters={"tiles": tiles}, overrides={"tensix_dram.access_ns": 250}
        )
        lines.append(f"tanto-unary,{tiles},{ran.latency_ns}")
    (tmp_path / "data.csv").write_text("\n".join(lines))
    found = fit_machine("tensix_tiny", tmp_path / "data.csv", fields=["tensix_dram.access_ns"], workers=1)
    assert found.values == pytest.approx({"tensix_dram.access_ns": 250}, rel=0.01)


def _data(tmp_path, text):
    (tmp_path / "data.csv").write_text(text)
    return tmp_path / "data.csv"


def test_a_row_far_from_the_others_is_in_another_unit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"gemm-single-pe,{m},{time}\n" for m, time in ((32, 700), (64, 800), (128, 1.2)))
    _data(tmp_path, "bench,M,time_ns\n" + rows)
    with pytest.raises(
        InputError, match=r"^data.csv:4: measured 1.2 ns, and the simulation takes [\d,]+ times as long, c"
    ):
        fit_machine("tiny", "data.csv", fields=["pe_gemm.tflops_f16"], workers=1)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (["hbm.chanel_gbs"], "unknown topology field 'hbm.chanel_gbs'; did you mean 'hbm.channel_gbs'?"),
        (["hbm.channels"], "hbm.channels cannot be fitted: it is a whole number, which a sweep varies"),
        (["mmu.model"], "mmu.model cannot be fitted: it is 'va', which is no number"),
        (["hbm.overhead_ns"], "hbm.overhead_ns cannot be fitted: it is 0 and has no range; give one"),
        (["noc.energy.byte_pj=1..9"], "noc.energy.byte_pj cannot be fitted: it is a price, from which no time follows"),
        (["noc.gbs=1..3"], "noc.gbs got the range '1..3', and its value is 256 GB/s; give the least and the most"),
        (["noc.gbs=9"], "noc.gbs got '9'; give the ends of its range, as noc.gbs=100..400"),
        (["noc.gbs=-9..300"], "the range of noc.gbs: got -9, expected greater than or equal to 0.001"),
        (["noc.gbs", "noc.gbs"], "the field 'noc.gbs' is named twice; name it once"),
        (["noc.gbs", "pe_gemm.tflops_f16"], "data.csv: 1 row cannot determine 2 figures; measure more, or name fewer"),
    ],
)
def test_figures_that_cannot_be_fitted_are_one_sentence(tmp_path, monkeypatch, fields, sentence):
    monkeypatch.chdir(tmp_path)
    _data(tmp_path, "bench,M,time_ns\ngemm-single-pe,32,700\n")
    with pytest.raises(InputError) as caught:
        fit_machine("tiny", "data.csv", fields=fields, workers=1)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_machine_without_chosen_figures_says_so(tmp_path):
    data = _data(tmp_path, "src,dst,bytes,time_ns\nnode[0][0],node[1][0],256,9\n")
    with pytest.raises(
        InputError, match=r"^no figure of mesh_8x8 has the source 'chosen'; name those to fit with --field"
    ):
        fit_machine("mesh_8x8", data)


def test_a_field_is_not_fitted_and_given_for_a_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _data(tmp_path, "bench,topology.noc.gbs,time_ns\ngemm-single-pe,128,700\n")
    with pytest.raises(InputError, match=r"^data.csv:2: 'noc.gbs' is set for this row and is to be fitted; "):
        fit_machine("tiny", "data.csv", fields=["noc.gbs"], workers=1)


def test_a_row_that_does_not_run_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _data(tmp_path, "src,dst,bytes,time_ns\nsip0.cube0.pe0,sip0.cube0.pe7,256,9\n")
    with pytest.raises(InputError, match=r"^data.csv:2: the machine has no sip0.cube0.pe7; it has"):
        fit_machine("tiny", "data.csv", fields=["noc.gbs"], workers=1)


@pytest.mark.slow
def test_a_fit_ends_at_its_time_limit(flows):
    def spin(_):
        while True:
            pass

    with pytest.raises(
        LimitError, match=r"^the fit of tiny to .*flows.csv: it takes longer than its time limit of 0.2 s"
    ):
        fit_machine("tiny", flows, fields=list(TWO), workers=1, time_limit="0.2 s", on_stage=spin)


def test_a_machine_file_has_a_name_of_one(tmp_path):
    from kernbench.fitting.fit import check_machine_file

    with pytest.raises(InputError, match=r"fitted.csv is none by its name; give one that ends in .yaml$"):
        check_machine_file(tmp_path / "fitted.csv")


def test_errors_are_shares_of_measured_times():
    from kernbench.fitting.fit import Errors

    assert Errors.of(np.log([110.0, 95.0]), np.log([100.0, 100.0])) == Errors(pytest.approx(0.075), pytest.approx(0.1))
