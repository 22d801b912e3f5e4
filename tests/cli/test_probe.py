"""`kernbench probe`: one object, all files or none, sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

from kernbench.cli.main import main
from kernbench.sealing import FIELD, load_sealed_json
from kernbench.traffic.checks import Check

FLOW_KEYS = ["id", "src", "dst", "bytes", "start_ns", "end_ns", "latency_ns", "effective_gbs", "hops"]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kernbench.cli.output.compiling.announce_compiling", lambda: None)
    monkeypatch.chdir(tmp_path)


def probe(*arguments: object) -> int:
    return main(["probe", *map(str, arguments)])


def answer(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert probe(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--topology", "mesh_8x8", "--flow", "node[0][0]:node[0][2]:1KiB", "--flow", "63:0:256@5")
    energy = ["dynamic_aj", "static_aj", "static_upper_aj", "no_figures", "energy_j", "dynamic_j", "static_j", "power_w",
              "area_mm2", "cost_usd"]  # fmt: skip
    assert list(found) == [
        "flows",
        "topology",
        "mode",
        "makespan_ns",
        "flit_hops",
        "wall_s",
        *energy,
        "overrides",
        "files",
    ]
    assert [list(flow) for flow in found["flows"]] == [FLOW_KEYS, FLOW_KEYS]
    assert [flow["end_ns"] for flow in found["flows"]] == [11.0, 37.0]
    assert [flow["latency_ns"] for flow in found["flows"]] == [11.0, 32.0]
    assert (found["makespan_ns"], found["flit_hops"], found["mode"]) == (37.0, 4 * 4 + 16, "hybrid")
    assert found["files"] == {}


def test_modes_agree(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("--flow", "host:sip0.cube0.pe0:64KiB", "--flow", "sip0.cube0.pe1:sip0.cube1.pe0:4KiB:read@20")
    hybrid, flit = (answer(capsys, "-t", "tiny", *texts, "--mode", mode) for mode in ("hybrid", "flit"))
    assert hybrid["flows"] == flit["flows"]


@pytest.mark.parametrize("path", ["link_gbs", "topology.link_gbs"])
def test_fields_are_set_with_or_without_their_prefix(capsys: pytest.CaptureFixture[str], path: str) -> None:
    found = answer(capsys, "-t", "mesh_8x8", "--flow", "0:1:1KiB", "--set", f"{path}=128", "--set", "hop_ns=5")
    assert found["flows"][0]["latency_ns"] == 2 * (4 + 2) + 5 + 2
    assert found["overrides"] == {"link_gbs": "128", "hop_ns": "5"}


def test_a_file_of_flows_and_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "flows.csv", tmp_path / "out"
    path.write_text("src,dst,bytes,start_ns\n" + "".join(f"0,{i},{i}KiB,0\n" for i in range(1, 26)))
    assert probe("-t", "mesh_8x8", "--flows", path, "--out", out) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "25 flows on mesh_8x8, hybrid mode; the 20 slowest"
    assert lines[1].split() == ["id", "source", "destination", "bytes", "hops", "start", "ns", "end", "ns", "latency",
                                "ns", "GB/s"]  # fmt: skip
    assert lines[2].split()[:4] == ["24", "0", "25", "25,600"]
    assert lines[-4].startswith("makespan 1,")
    assert lines[-3].startswith("energy ")
    assert lines[-2:] == [f"wrote {out / 'flows.parquet'}", f"wrote {out / 'result.json'}"]
    assert polars.read_parquet(out / "flows.parquet").columns == FLOW_KEYS
    assert json.loads((out / "result.json").read_text())["topology"] == "mesh_8x8"


@pytest.mark.slow
def test_a_pattern_leaves_table_and_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("-t", "mesh_8x8", "--pattern", "transpose", "--load", "0.1,0.3", "--window", "300", "--packet-flits", "2")
    found = answer(capsys, *given)
    assert [point["load"] for point in found["points"]] == [0.1, 0.3]
    assert 0.1 < found["saturation_load"] < 0.3
    assert {"pattern", "packet_flits", "seed", "zero_load_ns", "makespan_ns", "flit_hops", "wall_s"} <= set(found)
    out = Path("results", "mesh_8x8-transpose")
    assert found["files"] == {
        "table": str(out / "curve.parquet"),
        "plots": [str(out / "latency-load.svg"), str(out / "latency-load.png")],
        "result": str(out / "result.json"),
    }
    assert sorted(path.name for path in out.iterdir()) == [
        "curve.parquet",
        "latency-load.png",
        "latency-load.svg",
        "result.json",
    ]
    assert polars.read_parquet(out / "curve.parquet")["load"].to_list() == [0.1, 0.3]
    assert probe(*given, "--out", tmp_path / "other") == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0].startswith("load 0.1  ")
    lines = printed.out.splitlines()
    assert lines[0] == "transpose traffic on mesh_8x8 (8 x 8), hybrid mode, packets of 2 flits, seed 0"
    assert lines[4].startswith("each packet alone ")
    assert f"saturated, with three times that, at load {found['saturation_load']:.3f}" in lines[4]
    assert lines[-1] == f"wrote {tmp_path / 'other' / 'result.json'}"


def test_a_light_load_does_not_saturate(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("-t", "mesh_8x8", "--pattern", "neighbor", "--load", "0.1", "--window", "300") == 0
    assert "; not saturated at any of these loads\n" in capsys.readouterr().out


def test_loads_that_all_saturate_give_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("-t", "mesh_8x8", "--pattern", "hotspot", "--load", "0.5,0.6", "--window", "300") == 0
    assert "at load 0.500 or below, where none was measured\n" in capsys.readouterr().out


SURVEY_KEYS = ["topology", "mode", "ok", "reference_bytes", "checks", "summary", "sweep", "overrides", "files"]


def test_alone_it_measures_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "-t", "tiny", "--set", "hbm.channel_gbs=64")
    assert list(found) == SURVEY_KEYS
    assert (found["ok"], found["files"], found["overrides"]) == (True, {}, {"hbm.channel_gbs": "64"})
    assert [row["family"] for row in found["summary"]] == ["h2d", "h2d", "d2h", "d2h"] + 4 * ["pe_dma"]
    assert {row["bytes"] for row in found["summary"]} == {found["reference_bytes"]} == {32768}
    assert found["summary"][0]["commit_ns"] == 4


def test_a_case_is_sent_alone_by_its_flow(capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "-t", "tiny")["summary"]
    for row in rows:
        assert answer(capsys, "-t", "tiny", "--flow", row["flow"])["flows"][0]["latency_ns"] == row["actual_ns"]


def test_what_a_survey_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("-t", "tiny") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "probe of tiny, hybrid mode: 8 cases, 72 runs of one flow each"
    assert lines[2] == "host to device, writes: 32 KiB from host"
    assert lines[4].split() == ["cube0", "sip0.cube0.pe0", "8", "299.275", "299.275", "0.275", "24.000", "267.000",
                                "8.000", "109.5", "128.0", "85.5%"]  # fmt: skip
    at = lines.index("utilisation of the bottleneck by size")
    assert lines[at + 1].split()[2::2] == ["4", "8", "16", "32", "64", "128", "256", "512", "1"]
    at = lines.index("invariants, over all sizes")
    assert [line[:6] for line in lines[at + 1 :: 2][:6]] == ["PASS  "] * 6
    assert lines[-1] == "all 6 invariants hold"


def test_a_survey_shows_what_routers_with_credits_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("-t", "mesh_8x8_credit") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "overhead +  routers +  serialisation +" in lines[3]
    assert lines[-1] == "all 2 invariants hold"


def test_a_bare_network_is_measured_by_messages(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "-t", "mesh_8x8")
    assert [row["hops"] for row in found["summary"]] == [1, 2, 4, 8, 14]
    assert [check["passed"] for check in found["checks"]] == [True, True]


@pytest.mark.slow
def test_what_a_survey_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert probe("-t", "tiny", "--output", out) == 0
    names = ["probe.parquet", "utilisation.svg", "utilisation.png", "result.json"]
    assert capsys.readouterr().out.splitlines()[-4:] == [f"wrote {out / name}" for name in names]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    kept = json.loads((out / "result.json").read_text())
    assert list(kept) == [FIELD, *SURVEY_KEYS]
    assert polars.read_parquet(out / "probe.parquet").to_dicts() == kept["sweep"]


def test_a_broken_invariant_is_shown_kept_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = (Check("time is long", True, "a"), Check("time flows", False, "it stood"), Check("more", None, "b"))
    monkeypatch.setattr("kernbench.traffic.probe_suite.check_all", lambda _: broken)
    assert probe("-t", "tiny") == 1
    printed = capsys.readouterr()
    assert printed.err == "error: time flows: it stood\n"
    assert printed.out.splitlines()[-8:] == [
        "PASS  time is long", "      a", "FAIL  time flows", "      it stood", "n/a   more", "      b", "",
        "1 of 2 invariants FAIL",
    ]  # fmt: skip
    assert probe("-t", "tiny", "--json") == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


ONE_KIND = (
    "probe sends one kind of traffic: --flow (as often as you like), --flows, --pattern or --noc-trace; "
    "without any of them it measures the machine"
)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--flow", "0:1:1", "--pattern", "uniform"], ONE_KIND),
        (["--flow", "0:1:1", "--flows", "x.csv"], ONE_KIND),
        (["--window", "5"], "--window says how a pattern is sent; give --pattern with it"),
        (["--flow", "0:1:1", "--packet-flits", "5"], "--packet-flits says how a pattern is sent; give --pattern with it"),
        (["--mode", "flits"], "unknown mode 'flits'; did you mean 'flit'? Known: flit, hybrid"),
        (["-t", "mesh_8x8", "--set", "k=1"],
         "machine mesh_8x8 has one endpoint, which has nobody to send to; set k to 2 or more"),
        (["--flow", "0:1"], "--flow '0:1' is not of the form SRC:DST[+DST...]:BYTES[:read|write][@START_NS], "
         "such as sip0.cube0.pe0:sip1.cube0.pe0:16KiB:read@100"),
        (["-t", "mesh_8x8", "--flow", "0:64:1"], "--flow '0:64:1': the machine has no node 64; it has no SIPs, "
         "only the endpoints node[0][0] to node[7][7], by index 0 to 63"),
        (["--flows", "none.csv"], "none.csv cannot be read: No such file or directory"),
        (["--pattern", "uniform", "--load", "2"], "--load '2': got 2, expected more than 0 and at most 1, "
         "the whole bandwidth of an endpoint"),
        (["--pattern", "uniform"], "patterns need the nodes of a mesh, and sip_2x4x4 is of family sip; "
         "try --topology mesh_8x8 or give flows"),
        (["-t", "mesh_8x8", "--flow", "0:1:1", "--mode", "flits"],
         "unknown mode 'flits'; did you mean 'flit'? Known: flit, hybrid"),
        (["-t", "mesh_8x8", "--flow", "0:1:1", "--set", "link_gb=1"],
         "unknown topology field 'link_gb'; did you mean 'link_gbs'? Known: acknowledged, allocator, "
         "allocator_iterations, buffer_flits, credit_ns, dateline, description, ejection_ns, endpoint_gbs, family, "
         "flit_bytes, flow_control and 49 more"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_leaves_no_files(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(*arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {sentence}"
    assert list(Path().iterdir()) == []


# A field that varies


VARIED = ("-t", "mesh_8x8", "--pattern", "uniform", "--load", "0.1,0.6", "--window", "300")


def test_curves_of_several_flow_controls_are_in_one_table_and_one_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert probe(*VARIED, "--vary", "flow_control=unbounded,credit", "--set", "k=4", "--out", out) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0].startswith("flow_control=unbounded  load 0.1  ")
    lines = printed.out.splitlines()
    assert lines[0] == (
        "uniform traffic on mesh_8x8 (4 x 4), hybrid mode, packets of 4 flits, seed 0: mean latency (ns) by flow_control"
    )
    assert lines[1].split() == ["load", "unbounded", "credit"]
    unbounded, credit = map(float, lines[2].split()[1:])
    assert unbounded < credit
    assert lines[4].startswith("flow_control=unbounded: each packet alone ")
    assert lines[5].startswith("flow_control=credit: each packet alone ")
    assert lines[-1] == f"wrote {out / 'result.json'}"
    table = polars.read_parquet(out / "curve.parquet")
    assert table["flow_control"].to_list() == ["unbounded", "unbounded", "credit", "credit"]
    assert table["load"].to_list() == [0.1, 0.6, 0.1, 0.6]
    found = json.loads((out / "result.json").read_text())
    assert (found["field"], [curve["value"] for curve in found["curves"]]) == ("flow_control", ["unbounded", "credit"])
    assert found["overrides"] == {"k": "4"}
    assert sorted(path.name for path in out.iterdir()) == [
        "curve.parquet",
        "latency-load.png",
        "latency-load.svg",
        "result.json",
    ]


def test_a_varied_field_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *VARIED, "--vary", "topology.k=3,4")
    assert list(found) == ["field", "curves", "overrides", "files"]
    assert [curve["size"] for curve in found["curves"]] == ["3 x 3", "4 x 4"]
    assert Path("results", "mesh_8x8-uniform-k", "result.json").is_file()


WANTED = "--vary takes a field and two to 7 values that differ, such as flow_control=unbounded,credit, and got "


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--vary", "k"], WANTED + "'k'"),
        (["--vary", "k=4"], WANTED + "'k=4'"),
        (["--vary", "k=4,,5"], WANTED + "'k=4,,5'"),
        (["--vary", "k=4,4"], WANTED + "'k=4,4'"),
        (["--vary", "k=1,2,3,4,5,6,7,8"], WANTED + "'k=1,2,3,4,5,6,7,8'"),
        (["--vary", "k=4,5", "--set", "k=3"], "--vary and --set both give k; leave one of them out"),
        (["--vary", "k=4,none"], "override k: "),
    ],
)
def test_what_cannot_vary(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(*VARIED, *given) == 2
    assert says in capsys.readouterr().err
    assert not Path("results").exists()


def test_only_patterns_have_a_varied_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("--flow", "0:1:1", "--vary", "k=4,5") == 2
    assert "--vary says how a pattern is sent; give --pattern with it" in capsys.readouterr().err


def test_what_flits_waited_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flows = ["--flow", "0:3:5KiB", "--flow", "1:3:5KiB", "--explain", "--topology", "mesh_8x8_credit"]
    assert probe(*flows, "--out", tmp_path / "waits") == 0
    said = capsys.readouterr().out.splitlines()
    at = said.index("waiting in the network by link, summed over flits")
    assert said[at + 1].split() == ["link", "waiting", "ns", "queueing", "no", "credit", "no", "channel", "lost", "channel",
                                    "lost", "switch", "link", "busy", "memory", "source"]  # fmt: skip
    assert said[at + 2].startswith("all links ")
    assert load_sealed_json(tmp_path / "waits/result.json")["network"]["total_ns"]["lost_switch"] > 0
    assert probe(*flows, "--json") == 0
    network = json.loads(capsys.readouterr().out)["network"]
    assert network["links"][0]["waiting_ns"] >= network["links"][1]["waiting_ns"] > 0
    assert sum(link["lost_switch_ns"] for link in network["links"]) == network["total_ns"]["lost_switch"]


def test_what_flits_of_a_pattern_waited_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["--pattern", "transpose", "--load", "0.05,0.3", "--window", "300", "--topology", "mesh_8x8_credit"]
    given += ["--set", "k=4", "--out", str(tmp_path / "waits")]
    assert probe(*given) == 0
    plain = capsys.readouterr().out
    assert probe(*given, "--explain") == 0
    said = capsys.readouterr().out
    assert said.startswith(plain[: plain.index("each packet alone")])  # no time depends on it
    result = load_sealed_json(tmp_path / "waits/result.json")
    table = polars.read_parquet(tmp_path / "waits/curve.parquet")
    low, high = (point["network"] for point in result["points"])
    assert high["per_packet"]["queueing_ns"] > low["per_packet"]["queueing_ns"]
    for network, column in zip((low, high), table["lost_switch_ns"].to_list(), strict=True):
        assert (
            network["per_packet"]["lost_switch_ns"] == column == network["total_ns"]["lost_switch"] / network["packets"]
        )
    assert f"waiting in the network by link at load 0.3, {high['packets']:,} packets, summed over flits" in said
    assert said.index("waiting in the network by load, ns a packet") < said.index(high["links"][0]["link"])


def test_what_flits_waited_for_by_a_varied_field(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = [
        "--pattern",
        "neighbor",
        "--load",
        "0.3",
        "--window",
        "100",
        "--topology",
        "mesh_8x8_credit",
        "--set",
        "k=3",
    ]
    assert probe(*given, "--vary", "buffer_flits=1,8", "--explain", "--out", tmp_path / "waits") == 0
    said = capsys.readouterr().out
    rows = said[said.index("waiting in the network by load") :].splitlines()
    assert rows[1].split()[:2] == ["buffer_flits", "load"]
    assert [row.split()[:2] for row in rows[2:4]] == [["1", "0.3"], ["8", "0.3"]]


def test_a_flow_alone_waits_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe("--flow", "0:3:256", "--explain", "--topology", "mesh_8x8_credit") == 0
    assert "no flit waited" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--flow", "0:3:5KiB", "--topology", "mesh_8x8"], "the links of machine mesh_8x8 have no credits"),
        (["--pattern", "uniform", "--topology", "mesh_8x8"], "the links of machine mesh_8x8 have no credits"),
        (
            ["--pattern", "uniform", "--topology", "mesh_8x8", "--vary", "k=4,5"],
            "the links of machine mesh_8x8 have no",
        ),
        (["--topology", "mesh_8x8_credit"], "give --flow, --flows or --pattern with it"),
    ],
)
def test_what_cannot_be_explained(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(*given, "--explain") == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert not captured.out
