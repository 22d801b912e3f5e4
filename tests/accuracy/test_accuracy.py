"""The page of errors says what its record says; quick families and all approximations are measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.accuracy.__main__ import run
from benches.accuracy.approximations import APPROXIMATIONS
from benches.accuracy.families import FAMILIES, image_of
from benches.accuracy.family import OUTLIER, Approximation, Family, Overrides, Point, Rule
from benches.accuracy.networks import TRACES, replay
from benches.accuracy.page import DOCS, PAGE, draw, make_page
from benches.accuracy.record import REFERENCE, find_risen, measure, of_approximation, of_family, read, write
from kernbench.errors import InputError
from tests.traffic.noc_trace.support import reading, write_trace

ROOT = Path(__file__).resolve().parents[2]
RECORD = read(ROOT / REFERENCE)


def test_the_page_says_what_the_record_says() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8") == make_page(RECORD)
    assert all((ROOT / DOCS / image_of(family)).is_file() for family in FAMILIES)


def test_everything_is_recorded() -> None:
    assert set(RECORD["families"]) == {family.name for family in FAMILIES}
    assert set(RECORD["approximations"]) == {one.name for one in APPROXIMATIONS}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_outlier_has_a_reason(family: Family) -> None:
    for case, error in RECORD["families"][family.name]["cases"].items():
        assert abs(error) <= OUTLIER or family.find_rule(Point(case, 1 + error, 1)), case


def test_a_reason_is_shown_or_is_a_guess() -> None:
    """What other fields show is not a guess: with them the errors are a good deal nearer, or of the other sign."""
    for family in FAMILIES:
        for why, found in RECORD["families"][family.name].get("shown", {}).items():
            assert why in {rule.why for rule in family.rules if rule.changed}
            assert abs(found["as it is"] - found["changed"]) > OUTLIER / 2
    page = make_page(RECORD)
    assert "a guess: " in page
    assert "with `--set topology.tensix_dram.access_ns=0` their mean goes from +36% to +" in page


def _family(run, rules, **more) -> Family:
    return Family("f", "F", "c", "a", "cmd", "u", run, rules, **more)


def test_an_experiment_is_measured_on_the_outliers_of_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (Rule(("x",), 1, "of x", changed={"noc.gbs": 1}), Rule(("y",), 1, "of y", changed={"noc.gbs": 1}))

    def run(changed: Overrides) -> list[Point]:
        return [Point("x 1", 110 if changed else 130, 100), Point("x 2", 120, 100), Point("x 3", 105, 100)]

    family = _family(run, rules, data="KERNBENCH_NO_SUCH_DATA")
    found = measure(family)
    assert found["shown"] == {"of x": {"as it is": 0.25, "changed": 0.15}}
    assert found["measured_on"]
    assert not family.has_data()
    monkeypatch.setenv("KERNBENCH_NO_SUCH_DATA", "data")
    assert family.has_data()


def test_a_family_without_its_data_keeps_its_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv(TRACES, raising=False)
    before = PAGE.read_bytes(), REFERENCE.read_bytes()
    assert run(["noc traces"]) == 0
    assert "noc traces: not run; KERNBENCH_NOC_TRACES names no directory of its data" in capsys.readouterr().out
    monkeypatch.setenv(TRACES, "nowhere")
    assert run(["noc traces"]) == 2
    assert capsys.readouterr().err == "error: nowhere cannot be read: No such file or directory\n"
    assert before == (PAGE.read_bytes(), REFERENCE.read_bytes())


def test_traces_of_a_directory_are_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_trace(tmp_path / "a.json", *reading((2, 1), (1, 1), 2048))
    monkeypatch.setenv(TRACES, str(tmp_path))
    ((case, ours, _),) = replay({})
    assert case == "a"
    assert 200 < ours < 1000
    (tmp_path / "b.json").write_text("")
    with pytest.raises(InputError, match=r"b.json is empty; a NoC trace is a JSON array of events$"):
        replay({})


@pytest.mark.slow
@pytest.mark.parametrize("family", [one for one in FAMILIES if one.quick], ids=lambda family: family.name)
def test_a_quick_family_has_the_recorded_errors(family: Family) -> None:
    """Known gaps among them: if one closes, or widens, run `make accuracy`."""
    found = of_family(family.run({}))
    assert found == {name: RECORD["families"][family.name][name] for name in found}


@pytest.mark.slow
@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=lambda one: one.name)
def test_a_known_gap_is_as_large_as_the_page_says(approximation: Approximation) -> None:
    """If one closes, or widens: run `make accuracy`."""
    found = of_approximation(approximation.run())["cases"]
    known = RECORD["approximations"][approximation.name]["cases"]
    assert found == pytest.approx(known, abs=0.002)
    assert max(map(abs, found.values())) > 0.02


def test_a_record_reads_back_and_tells_what_rose(tmp_path: Path) -> None:
    points = [Point("a", 110, 100), Point("b", 180, 200), Point("b", 150, 200)]
    record = {"families": {"x": of_family(points)}, "approximations": {}}
    write(record, tmp_path / "deep" / "accuracy.json")
    assert read(tmp_path / "deep" / "accuracy.json") == record
    assert record["families"]["x"] == {
        "points": 3,
        "mean": 0.15,
        "median": 0.1,
        "worst": 0.25,
        "ordered": 1.0,
        "cases": {"a": 0.1, "b": -0.25},
    }
    better = {"families": {"x": of_family(points[:2])}, "approximations": {}}
    assert find_risen(better, record) == []
    assert find_risen(record, better) == ["x: 10.0% -> 15.0%"]
    assert read(tmp_path / "none.json") == {"families": {}, "approximations": {}}


def test_a_family_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibraton"]) == 2
    assert capsys.readouterr().err.startswith("error: there is no family 'calibraton'; known: calibration, routers, ")


@pytest.mark.slow
def test_the_same_bytes_for_the_same_record(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw(FAMILIES[0], RECORD["families"][FAMILIES[0].name], tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.svg"]


@pytest.mark.slow
def test_a_check_writes_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    before = (ROOT / PAGE).read_bytes(), (ROOT / REFERENCE).read_bytes()
    assert run(["--check", "calibration"]) == 0
    assert capsys.readouterr().out.startswith("calibration: 4 points, mean 0.6%")
    assert before == ((ROOT / PAGE).read_bytes(), (ROOT / REFERENCE).read_bytes())
