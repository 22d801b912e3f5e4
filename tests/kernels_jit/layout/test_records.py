"""The layout of records."""

from __future__ import annotations

import numpy as np
import pytest

from kernels_jit.layout import records
from kernels_jit.layout.records import int16, int32, record, word_of, words_of


def test_fields_are_words_in_their_order_and_records_are_padded():
    pair = record("near", "far", words=3)
    assert (word_of(pair, "near"), word_of(pair, "far"), words_of(pair)) == (0, 1, 3)
    assert np.arange(6).view(pair)["far"].tolist() == [1, 4]


def test_a_field_is_named_once():
    with pytest.raises(ValueError, match="a record names a field twice: near, far, near"):
        record("near", "far", "near")


def test_a_field_is_not_named_as_what_records_of_numpy_have():
    with pytest.raises(ValueError, match="numpy has another use for the name of a field: size"):
        record("near", "size")


def test_fields_may_be_parts_of_words():
    packed = record("far", int32("near"), int16("here"), int16("there"), words=3)
    assert (words_of(packed), word_of(packed, "far")) == (3, 0)
    rows = np.zeros(6, np.int64).view(packed)
    rows["there"] = -2, 7
    assert rows.view(np.int64).tolist() == [0, -2 << 48, 0, 0, 7 << 48, 0]
    with pytest.raises(ValueError, match="field here is less than a word"):
        word_of(packed, "here")
    with pytest.raises(ValueError, match="fields of a record stand at no multiple of their size: near, far"):
        record(int16("here"), int32("near"), "far")


def test_a_copy_has_what_a_virtual_channel_has_in_the_same_place():
    both = set(records.COPY.names or ()) & set(records.INPUT_VC.names or ())
    assert {"front", "out_link", "out_vc", "ready", "is_last", "input", "allowed", "accept"} <= both
    assert all((records.COPY.fields or {})[name] == (records.INPUT_VC.fields or {})[name] for name in both)
    assert (records.COPY.fields or {})["vc"] == (records.INPUT_VC.fields or {})["index"]


def test_records_that_a_cache_line_holds_do():
    """Lines are eight words: what is read together must not begin in one and end in the next."""
    assert {words_of(kind) for kind in (records.STATION, records.TRANSFER)} <= {16, 24}
    assert {words_of(kind) for kind in (records.PORT, records.SERVER, records.JOB, records.STEP)} == {8}
    assert {words_of(kind) for kind in (records.COPY, records.ROUTER)} == {8}
    assert (words_of(records.LINK), words_of(records.INPUT)) == (24, 4)
    assert {words_of(kind) for kind in (records.HOP, records.VISIT, records.SOURCE, records.EVENT)} == {4}
