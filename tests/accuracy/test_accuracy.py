"""The page of errors says what its record says; quick families and all approximations are measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.accuracy.__main__ import run
from benches.accuracy.approximations import APPROXIMATIONS
from benches.accuracy.families import FAMILIES, image_of
from benches.accuracy.family import OUTLIER, Approximation, Family, Point
from benches.accuracy.page import DOCS, PAGE, draw, make_page
from benches.accuracy.record import REFERENCE, find_risen, of_approximation, of_family, read, write

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
        assert abs(error) <= OUTLIER or family.reason(Point(case, 1 + error, 1)), case


@pytest.mark.slow
@pytest.mark.parametrize("family", [one for one in FAMILIES if one.quick], ids=lambda family: family.name)
def test_a_quick_family_has_the_recorded_errors(family: Family) -> None:
    assert of_family(family.run()) == RECORD["families"][family.name]


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
