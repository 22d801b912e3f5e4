from __future__ import annotations

import pytest
from pydantic import Field

from kernbench.errors import InputError
from kernbench.schema.fields import Bytes, Gbs
from kernbench.schema.model import Model, check, leaf_paths
from kernbench.schema.yaml import parse


class Inner(Model):
    gbs: Gbs
    size: Bytes = 256


class Outer(Model):
    name: str
    inner: Inner
    many: list[Inner] = Field(default_factory=list)
    by_name: dict[str, Inner] = Field(default_factory=dict)
    grade: int | str = 0


def test_a_good_tree_becomes_a_model():
    found = check(Outer, parse("name: x\ninner: {gbs: 64 GB/s, size: 1KiB}\n", "f"))
    assert (found.inner.gbs, found.inner.size) == (64.0, 1024)


def test_all_errors_come_at_once_in_order():
    text = "inner:\n  gbz: 3\n  gbs: 4 lightyears\nmany:\n  - {gbs: 1}\n  - {gbs: -1, extra: 2}\nnam: 3\n"
    with pytest.raises(InputError) as caught:
        check(Outer, parse(text, "f"))
    assert str(caught.value).split("\n") == [
        "f:1:1: name: missing; add it",
        "f:2:3: inner.gbz: unknown field; did you mean 'gbs'?",
        "f:3:8: inner.gbs: got '4 lightyears' with the unknown unit 'lightyears', expected a number, alone or in one of: "
        "B/s, KB/s, MB/s, GB/s, TB/s, B/ns",
        "f:6:11: many.1.gbs: got -1, expected greater than or equal to 0.001",
        "f:6:15: many.1.extra: unknown field; known: gbs, size",
        "f:7:1: nam: unknown field; did you mean 'name'?",
    ]


def test_errors_in_mappings_and_unions_have_a_place():
    with pytest.raises(InputError) as caught:
        check(Outer, parse("name: x\ninner: {gbs: 1}\nby_name:\n  a: {gbs: 1, sise: 3}\ngrade: [1]\n", "f"))
    assert str(caught.value).split("\n") == [
        "f:4:15: by_name.a.sise: unknown field; did you mean 'size'?",
        "f:5:8: grade: got [1], expected integer",
        "f:5:8: grade: got [1], expected string",
    ]


def test_a_tree_that_is_no_mapping_is_said():
    with pytest.raises(InputError, match=r"^f:1:1: got \[1\], expected a mapping$"):
        check(Outer, parse("[1]", "f"))
    with pytest.raises(InputError, match=r"^f:2:8: inner: got 5, expected a mapping$"):
        check(Outer, parse("name: x\ninner: 5\n", "f"))


def test_leaf_paths_are_dotted():
    assert list(leaf_paths(Outer)) == ["name", "inner.gbs", "inner.size", "many", "by_name", "grade"]
