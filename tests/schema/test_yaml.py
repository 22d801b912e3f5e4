from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.errors import InputError
from kernbench.schema import yaml
from kernbench.schema.yaml import Mark, load, parse, scalar


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1e9", 1e9), ("1E-3", 1e-3), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-2", -2), ("0x10", 16), ("1_000", 1000),
        ("0x1_0000_0000", 2**32), ("1:30", "1:30"), ("on", "on"), ("yes", "yes"), ("true", True), ("false", False),
        ("null", None), ("~", None), ("", None), ("2001-01-01", "2001-01-01"), ("16 KiB", "16 KiB"), ("0123", 123),
        ("nan", "nan"), ("inf", "inf"), ("e5", "e5"), ("1__0", "1__0"), ("0x", "0x"), ("1e400", float("inf")),
    ],
)  # fmt: skip
def test_scalars_mean_what_they_look_like(text, meant):
    found = scalar(text)
    assert found == meant
    assert type(found) is type(meant)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back(value):
    assert scalar(repr(value)) == value


@given(st.integers())
def test_every_integer_reads_back(value):
    found = scalar(str(value))
    assert found == value
    assert type(found) is int


def test_quoted_scalars_are_texts():
    assert parse("a: '1'\nb: \"true\"\nc: |\n  1\n", "f").plain() == {"a": "1", "b": "true", "c": "1\n"}


def test_everything_knows_where_it_stands():
    tree = parse("a:\n  - x\n  - {b: 2}\n", "f.yaml")
    inner = tree.value["a"].value[1].value["b"]
    assert inner.mark == Mark("f.yaml", 3, 9)
    assert str(inner.key) == "f.yaml:3:6"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: 2\na: 3\n", "f:3:1: the key 'a' stands here and at line 1; remove one"),
        ("a: [1\n", "f:2:1: not YAML: did not find expected ',' or ']'"),
        ("a: !x 1\n", "f:1:4: the tag '!x' is not known; remove it"),
        ("a: &q [*q]\n", "f:1:4: an alias contains itself"),
        ("? [1]\n: 2\n", "f:1:3: a key is a word, got a collection"),
        ("a: 1\n---\nb: 2\n", "f:2:1: not YAML: but found another document"),
        ("a:\nb: \x00", "f:2: the line 'b: \\x00' has a NUL character; leave it out"),
        ("a: \x01", "f: not YAML: unacceptable character #x0001: control characters are not allowed "
                    'in "<unicode string>", position 3'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(text, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        parse(text, "f")


def test_an_alias_is_read_where_it_stands():
    assert parse("a: &q [1]\nb: *q\n", "f").plain() == {"a": [1], "b": [1]}


def test_files_are_shown_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text("a: 1\n")
    assert load(tmp_path / "t.yaml").mark.file == "t.yaml"


def test_an_empty_or_missing_file_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text("# nothing\n")
    with pytest.raises(InputError, match=r"^t.yaml: the file is empty, expected a mapping$"):
        load("t.yaml")
    with pytest.raises(InputError, match=r"^none.yaml: cannot be read: No such file or directory$"):
        load("none.yaml")
    (tmp_path / "t.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"^t.yaml: cannot be read: it is not UTF-8 text$"):
        load("t.yaml")


@pytest.mark.parametrize("opened", ["[", "{a: "])
def test_what_is_nested_too_deeply_is_refused_before_it_is_read(opened):
    with pytest.raises(InputError, match=r"^f:1:\d+: nested more than 50 deep; no input of kernbench needs that$"):
        parse(opened * 100_000, "f")


def test_aliases_do_not_multiply_without_end(monkeypatch):
    monkeypatch.setattr(yaml, "MOST_VALUES", 10_000)
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    with pytest.raises(
        InputError, match=r"more than 10,000 values, those behind aliases counted each time; write fewer$"
    ):
        parse(text, "f")


def test_an_integer_beyond_all_use():
    assert parse("1" * 1000, "f").value == int("1" * 1000)
    with pytest.raises(InputError) as caught:
        parse(f"a: -{'1' * 5000}", "f")
    assert str(caught.value) == "f:1:4: an integer of 5,001 digits; give at most 1000"
