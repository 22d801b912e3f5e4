"""Ratios against the reference: flagged and shown ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches.perf.compare import main
from benches.perf.record import Record, find_fallen, read_reference, write_reference
from benches.perf.tables import MARK, lay_out, write_page


def record(**ratios: float) -> Record:
    return Record(
        machine={"processor": "abacus"},
        ratios={name: {"value": value, "target": "≥ 50" if name == "a" else ""} for name, value in ratios.items()},
        figures={"rate": {"value": 1234.5678, "unit": "flit-hops/s", "target": "< 2,000"}},
    )


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """As pytest-benchmark writes it: two benchmarks with a ratio each."""
    found = [
        {
            "extra_info": {
                "ratios": {"a": {"value": 79.0, "target": "≥ 50"}},
                "figures": {"t": {"value": 2, "unit": "s", "target": ""}},
            }
        },
        {"extra_info": {"ratios": {"b": {"value": 10.0, "target": ""}}, "figures": {}}},
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"datetime": "2026-01-02T03:04:05.678", "benchmarks": found}))
    return path


def test_a_fall_of_more_than_a_fifth_is_flagged():
    reference = record(a=100.0, b=100.0, c=100.0)
    assert find_fallen(record(a=80.0, b=79.9, c=300.0), reference) == ["b"]
    assert find_fallen(record(a=1.0, d=1.0), record(b=2.0)) == []


def test_the_table_shows_both_and_says_what_fell():
    text = lay_out(record(a=70.0, b=0.123456), record(a=100.0)).splitlines()
    assert text[0].split() == ["ratio", "(more", "is", "better)", "now", "reference", "target"]
    assert text[1].split() == ["a", "70", "100", "≥", "50", "fell", "by", "30%"]
    assert text[2].split() == ["b", "0.123", "-"]
    assert text[5].split() == ["rate", "1,235", "1,235", "<", "2,000", "flit-hops/s"]
    assert text[8].split() == ["processor", "abacus", "abacus"]


def test_a_reference_reads_back_with_four_digits(tmp_path: Path):
    path = tmp_path / "deep" / "perf.json"
    write_reference(path, record(a=1.23456))
    assert read_reference(path).ratios == {"a": {"value": 1.235, "target": "≥ 50"}}
    assert read_reference(path).machine == {"processor": "abacus"}
    assert read_reference(tmp_path / "none.json") == Record()


def test_the_status_is_that_of_the_ratios(run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    reference = tmp_path / "perf.json"
    write_reference(reference, record(a=100.0, b=10.0))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARK}\nold\n{MARK}\nafter\n")
    assert main(run_file, reference) == 1
    assert capsys.readouterr().err == "\nfell by more than 20%: a\n"
    assert main(run_file, reference, page) == 0
    assert main(run_file, reference) == 0
    known = read_reference(reference)
    assert {name: ratio["value"] for name, ratio in known.ratios.items()} == {"a": 79.0, "b": 10.0}
    assert known.figures == {"t": {"value": 2.0, "unit": "s", "target": ""}}
    assert known.machine["date"] == "2026-01-02 03:04"
    assert set(known.machine) == {
        "date",
        "processor",
        "cores",
        "system",
        "python",
        "numba",
        "numpy",
        "simpy",
        "greenlet",
    }
    assert capsys.readouterr().err == ""


def test_a_page_keeps_all_but_its_tables(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARK}\nold\n{MARK}\nafter\n")
    for value in (1.0, 2.0):
        write_page(page, record(a=value))
        assert page.read_text() == (
            f"before\n{MARK}\nMeasured on: processor abacus.\n\n"
            f"| ratio (more is better) | measured | target |\n|---|---|---|\n| a | {value:.0f} | ≥ 50 |\n\n"
            "| figure | measured | target |\n|---|---|---|\n| rate | 1,235 flit-hops/s | < 2,000 |\n"
            f"{MARK}\nafter\n"
        )
