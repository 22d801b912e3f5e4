from __future__ import annotations

import re

import pytest

from kernbench import units


@pytest.mark.parametrize(
    ("quantity", "unit", "meant"),
    [
        (64, "GB/s", 64.0),
        ("64", "GB/s", 64.0),
        ("64 GB/s", "GB/s", 64.0),
        ("0.128TB/s", "GB/s", 128.0),
        ("8 ns", "ns", 8.0),
        ("0.5us", "ns", 500.0),
        ("500 ps", "ns", 0.5),
        ("0.5 \N{MICRO SIGN}s", "ns", 500.0),
        ("0.5 \N{GREEK SMALL LETTER MU}s", "ns", 500.0),
        ("250\N{GREEK SMALL LETTER MU}m", "mm", 0.25),
        ("16KiB", "B", 16384.0),
        ("16 KB", "B", 16000.0),
        ("1_000", "B", 1000.0),
        ("1e9", "", 1e9),
        ("0.01 ns/mm", "ns/mm", 0.01),
        ("10 ns/m", "ns/mm", 0.01),
        ("8 TFLOPS", "TFLOPS", 8.0),
        ("2.5 GHz", "GHz", 2.5),
        ("1400 MHz", "GHz", 1.4),
        ("250 um", "mm", 0.25),
        ("256 element/ns", "element/ns", 256.0),
    ],
)
def test_quantities_come_in_the_unit_asked_for(quantity, unit, meant):
    assert units.parse(quantity, unit) == meant


@pytest.mark.parametrize(
    ("quantity", "unit", "sentence"),
    [
        (
            "64 GB",
            "GB/s",
            "got '64 GB' with the unknown unit 'GB', expected a number, alone or in one of: "
            "B/s, KB/s, MB/s, GB/s, TB/s, B/ns",
        ),
        ("fast", "ns", "got 'fast', expected a number, alone or in one of: fs, ps, ns, us, µs, ms, s"),
        (True, "", "got True, expected a number, alone or in one of: cycle, k, M, G, Ki, Mi, Gi"),
        (None, "GHz", "got None, expected a number, alone or in one of: Hz, kHz, MHz, GHz"),
    ],
)
def test_what_is_no_quantity_is_named_with_what_would_do(quantity, unit, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        units.parse(quantity, unit)


def test_counts_are_whole():
    assert units.parse_count("6 GiB", "B") == 6 * 2**30
    with pytest.raises(ValueError, match=r"^got '1.5', expected a whole number of B$"):
        units.parse_count("1.5", "B")


def test_a_count_that_a_float_cannot_hold_stays_exact():
    assert units.parse_count(2**60 + 1, "B") == 2**60 + 1


@pytest.mark.parametrize(
    ("fs", "shown"), [(76_520_000, "76.52 ns"), (0, "0 ns"), (8_230_000_000, "8,230 ns"), (1000, "0.001 ns")]
)
def test_times_are_shown_in_ns(fs, shown):
    assert units.format_ns(fs) == shown


@pytest.mark.parametrize(
    ("nbytes", "shown"), [(16384, "16 KiB"), (100, "100 B"), (6 * 2**30, "6 GiB"), (1536, "1.5 KiB")]
)
def test_sizes_are_shown_in_the_largest_unit(nbytes, shown):
    assert units.format_bytes(nbytes) == shown


@pytest.mark.parametrize("text", ["1e9999", "1e-9999 ns", "9" * 400, "1e" + "9" * 5000])
def test_a_number_out_of_all_proportion(text):
    with pytest.raises(ValueError, match=r"^got '.{1,20}', expected a number that is not out of all proportion$"):
        units.parse(text, "ns")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("nbytes", "B"),
        ("bytes_per_pe", "B"),
        ("slot_size", "B"),
        ("offset", "B"),
        ("gap_ns", "ns"),
        ("link_gbs", "GB/s"),
        ("M", ""),
        ("tokens", ""),
        ("heads", ""),
    ],
)
def test_the_unit_of_a_parameter_is_in_its_name(name, unit):
    assert units.unit_of(name) == unit


def test_counts_have_factors():
    assert [units.parse_count(text, "") for text in ("4Ki", "4k", "1 Mi")] == [4096, 4000, 2**20]
