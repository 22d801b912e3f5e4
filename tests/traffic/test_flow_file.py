"""Flows from files, valid and invalid."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.traffic.flow_file import read_flows


def write(directory: Path, text: str) -> Path:
    path = directory / "flows.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_plain_numbers_units_blank_lines_and_other_columns(tmp_path: Path) -> None:
    text = 'id, kind ,src,dst,bytes,start_ns\n7,read,a,b,16KiB,1.5\n\n8,,"b",a, 4 ,2us\n  ,,,,,\n9,write,a,c,5,0\n'
    flows = read_flows(write(tmp_path, text))
    assert [flows.names[i] for i in flows.src] == ["a", "b", "a"]
    assert [flows.names[i] for i in flows.dst] == ["b", "a", "c"]
    assert flows.nbytes.tolist() == [16384, 4, 5]
    assert flows.start_fs.tolist() == [1_500_000, 2_000_000_000, 0]
    assert flows.read.tolist() == [True, False, False]
    assert flows.where(2) == f"{tmp_path / 'flows.csv'}:6"


def test_without_a_kind_all_are_written(tmp_path: Path) -> None:
    assert read_flows(write(tmp_path, "src,dst,bytes,start_ns\na,b,1,0\n")).read.tolist() == [False]


HEADER = "src,dst,bytes,start_ns,kind\na,b,1,0,read\n"
COMMENT = "the line begins with #, and a file of flows has no comments; remove the line"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", " holds no flows; give a header and at least one line below"),
        ("\n\n", " holds no flows; give a header and at least one line below"),
        (
            "0,5,4096,0\n1,6,4096,0\n",
            ":1: the first line names no column: 0,5,4096,0; put src,dst,bytes,start_ns above it",
        ),
        ("src;dst;bytes;start_ns\na;b;1;0\n", ":1: ';' stands between the columns; put a comma there"),
        (
            "Src, Dst, Bytes, Start_ns\na,b,1,0\n",
            ":1: columns are named in small letters, src,dst,bytes,start_ns; got Src, Dst, Bytes, Start_ns",
        ),
        ("src\tdst\n", ":1: '\\t' stands between the columns; put a comma there"),
        ("# mine\n" + HEADER, f":1: {COMMENT}"),
        (HEADER + "# mine\n", f":3: {COMMENT}"),
        (HEADER + " # a,b,1,0,read,6\n", f":3: {COMMENT}"),
        (HEADER + "#a,b,1,0,read,6\n", f":3: {COMMENT}"),
        ("\n\n" + HEADER + "a,,1,0,read\n", ":5: dst is missing"),
        (HEADER + '"a\n",b,1,0,read\n\na,,1,0,read\n', ":6: dst is missing"),
        (HEADER + '"a\n",b,1,0,read,"6\n"\n', ":3: got 6 fields, expected 5 as in the header"),
        (HEADER.strip() + "," + 200_000 * "x", ":2: field larger than field limit (131072)"),
        (HEADER.splitlines()[0] + "\n", " holds no flows; give at least one line below the header"),
        (
            "src,dst,byte,start_ns\na,b,1,0\n",
            ":1: column 'bytes' is missing; did you mean 'byte'? Known: byte, dst, src, start_ns; "
            "a flow has src, dst, bytes, start_ns and, if you like, kind",
        ),
        (HEADER + "\na,b,0,0,read\n", ":4: bytes: got '0', expected more than 0 B"),
        (HEADER + f"a,b,{10**30},0,read\n", f":3: bytes: got '{10**30}', expected 1048576 TiB at most"),
        (
            "src, ,\n",
            ":1: column 'dst' is missing; known: \"\", src; a flow has src, dst, bytes, start_ns and, if you like, kind",
        ),
        ("src, src,dst,bytes,start_ns\n", ":1: a column is named twice: src,src,dst,bytes,start_ns"),
        ("src,dst,bytes,start_ns,bytes\n", ":1: a column is named twice: src,dst,bytes,start_ns,bytes"),
        (HEADER + "a,b,-1,0,read\n", ":3: bytes: got '-1', expected more than 0 B"),
        (HEADER + "a,b,1.5,0,read\n", ":3: bytes: got '1.5', expected a whole number of B"),
        (HEADER + "a,b,1,-1,read\n", ":3: start_ns: got '-1', expected 0 ns to 1 s"),
        (
            HEADER + "a,b,1,nan,read\n",
            ":3: start_ns: got 'nan', expected a number, alone or in one of: fs, ps, ns, us, µs, ms, s",
        ),
        (HEADER + "a,b,1,0,reed\n", ":3: unknown kind 'reed'; did you mean 'read'? Known: read, write"),
        (HEADER + "a,,1,0,read\n", ":3: dst is missing"),
        (HEADER + "a,b\n", ":3: bytes is missing"),
        (HEADER + "a,b,1,0,read,6\n", ":3: got 6 fields, expected 5 as in the header"),
    ],
)
def test_bad_files_and_lines(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_flows(path)
    assert str(error.value) == f"{path}{sentence}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_text_in_utf_16_is_told_as_that(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(HEADER, encoding)
    with pytest.raises(InputError) as error:
        read_flows(path)
    assert str(error.value) == f"{path} is a text in UTF-16; save it in UTF-8"


def test_an_error_of_the_machine_names_the_line_that_a_flow_begins_in(tmp_path: Path) -> None:
    text = 'src,dst,bytes,start_ns,note\na,b,1,0,"two\nlines"\na,b,1,0,ok\na,c,1,0,bad\n'
    path = write(tmp_path, text)
    assert [read_flows(path).where(flow) for flow in range(3)] == [f"{path}:{line}" for line in (2, 4, 5)]


def test_a_pipe_is_a_file() -> None:
    read, written = os.pipe()
    with os.fdopen(written, "w") as pipe:
        pipe.write("src,dst,bytes,start_ns\na,b,4,0\n")
    assert read_flows(Path(f"/dev/fd/{read}")).nbytes.tolist() == [4]
    os.close(read)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_flows(tmp_path / "none.csv")
    assert str(error.value) == f"{tmp_path / 'none.csv'} cannot be read: No such file or directory"
