"""Files of measured times, and what is said of those that cannot be."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.fitting.measurements import LATENCY, PE_EXEC, BenchWork, FlowWork, read_measurements

G = "gemm-single-pe"


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read_text(text, topology="tiny", family="sip"):
        file = tmp_path / "data.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_measurements(file.relative_to(tmp_path), topology, family, {})

    return read_text


def test_rows_are_benches_with_parameters_or_flows(read):
    found = read(
        "# measured on the second board\n"
        "bench,M,topology.pe.tile_m,src,dst,bytes,kind,note,time_us\n"
        f"{G},64,16,,,,,first,1.5\n"
        f"{G},,,,,,,,2\n"
        "\n"
        ",,,sip0.cube0.pe0,sip0.cube1.pe0,4KiB,read,,0.25\n"
    )
    assert [(row.line, row.time_ns) for row in found.rows] == [(3, 1500), (4, 2000), (6, 250)]
    first, default, flow = (row.work for row in found.rows)
    assert first == BenchWork(G, (("M", 64), ("K", 128), ("N", 128), ("dtype", "f16")), (("pe.tile_m", "16"),))
    assert default.parameters[0] == ("M", 128)
    assert flow == FlowWork("sip0.cube0.pe0", "sip0.cube1.pe0", 4096, True, 0, 6, ())
    assert found.metric == LATENCY
    assert found.where(2) == "data.csv:6"


def test_times_carry_their_units_in_the_cells_or_in_the_header(read):
    assert [row.time_ns for row in read(f"bench,time\n{G},1.5 us\n{G},900 ns\n").rows] == [1500, 900]
    assert read(f"bench,pe_exec_ms\n{G},1.5\n").rows[0].time_ns == 1.5e6
    assert read(f"bench,pe_exec_ms\n{G},1.5\n").metric == PE_EXEC


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "data.csv is empty; give a header, as bench,M,N,K,time_us, and rows below it"),
        ("\n\n", "data.csv is empty; give a header, as bench,M,N,K,time_us, and rows below it"),
        ("bench,time_us\n", "data.csv holds no measurements; give at least one row below the header"),
        (
            "bench,M\nx,3\n",
            "data.csv:1: no column of measured times among bench,M; name one time_ns, time_us, latency_us",
        ),
        (
            "bench;time_us\nx;3\n",
            "data.csv:1: no column of measured times among bench;time_us; name one time_ns, time_us, ",
        ),
        (f"M,time_us\n{G},3\n", "data.csv:1: nothing says what ran; name a column bench, or three src, dst and bytes"),
        ("bench,time_us,time_ns\nx,1,2\n", "data.csv:1: time_us and time_ns are both measured times; leave one, or"),
        ("bench,M,M,time_us\nx,1,2,3\n", "data.csv:1: the column 'M' is named twice; rename or remove one"),
        (
            "bench,time_us\ngem-single-pe,3\n",
            "data.csv:2: unknown bench 'gem-single-pe'; did you mean 'gemm-single-pe'?",
        ),
        (f"bench,MM,time_us\n{G},3,4\n", "data.csv:2: bench 'gemm-single-pe' has no parameter 'MM'"),
        (
            f"bench,M,time_us\n{G},many,4\n",
            "data.csv:2: parameter 'M' of bench 'gemm-single-pe' is int, as its default 128",
        ),
        (
            f"bench,time_us\n{G},4\n{G},fast\n",
            "data.csv:3: time_us: got 'fast', expected a number, alone or with a unit",
        ),
        (f"bench,time_us\n{G},\n", "data.csv:2: time_us is missing"),
        (f"bench,time_us\n{G},-3\n", "data.csv:2: time_us: got '-3', expected a time above 0 and below 30 years"),
        (f"bench,time_us\n{G},0\n", "data.csv:2: time_us: got '0', expected a time above 0 and below 30 years"),
        (f"bench,time_us\n{G},nan\n", "data.csv:2: time_us: got 'nan', expected a number"),
        (f"bench,time_us\n{G},3 ns\n", "data.csv:2: time_us is in us, and the cell is '3 ns'; give the number alone"),
        (
            f"bench,time\n{G},3 us\n{G},4\n",
            "data.csv:3: time has no unit, and that of line 2 has one; name the column time_ns",
        ),
        (
            f"bench,time\n{G},3\n",
            "data.csv:2: time has no unit; name the column time_ns or time_us, or give each time its unit",
        ),
        (f"bench,time\n{G},3 GB/s\n", "data.csv:2: time: got '3 GB/s'"),
        (f"bench,time_us\n{G},3,4\n", "data.csv:2: got 3 cells, expected 2 as in the header"),
        (f"bench,time_us\n{G}\n", "data.csv:2: got 1 cells, expected 2 as in the header"),
        ('bench,time_us\n"gemm,3\n', "data.csv:2: unexpected end of data"),
        ("bench,time_us\n,3\n", "data.csv:2: bench is missing"),
        ("src,dst,bytes,time_us\na,b,,3\n", "data.csv:2: bytes is missing"),
        ("src,dst,bytes,time_us\na,b,-1,3\n", "data.csv:2: bytes: got '-1', expected more than 0 B"),
        (
            "src,dst,bytes,M,time_us\na,b,1,2,3\n",
            "data.csv:2: a flow has no parameter 'M'; it has src, dst, bytes, kind",
        ),
        (
            f"bench,topology.noc.gb,time_us\n{G},1,3\n",
            "data.csv:2: unknown topology field 'noc.gb'; did you mean 'noc.gbs'?",
        ),
        (
            "bench,time_us\ntanto-unary,3\n",
            "data.csv:2: Tanto programs run on family",
        ),
        (b"\xff\xfeb\x00", "data.csv is a text in UTF-16; save it in UTF-8"),
        (b"bench,time_us\n\xff\xff,3\n", "data.csv is no CSV file: it is not UTF-8 text"),
    ],
)
def test_data_that_cannot_be_is_one_sentence_with_file_and_row(read, text, sentence):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_semicolon_between_columns_is_told(read):
    with pytest.raises(InputError, match=r"; ';' separates the columns; put a comma there$"):
        read("bench;time_us\nx;3\n")


def test_all_rows_that_cannot_be_are_told_up_to_ten(read):
    with pytest.raises(InputError) as caught:
        read("bench,time_us\n" + f"{G},x\n" * 12)
    lines = str(caught.value).split("\n")
    assert [line.partition(": ")[0] for line in lines[:-1]] == [f"data.csv:{line}" for line in range(2, 12)]
    assert lines[-1] == "and 2 more rows of data.csv"


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^none.csv cannot be read: No such file or directory$"):
        read_measurements(tmp_path / "none.csv", "tiny", "sip", {})
