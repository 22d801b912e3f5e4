"""Protobuf messages by the column, against the official library."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

from kernbench.trace.wire import Messages, join_rows, varint, varints

NUMBERS = st.lists(st.integers(0, (1 << 63) - 1), min_size=1, max_size=8)


@given(NUMBERS)
def test_varints_are_read_as_they_were_written(numbers: list[int]) -> None:
    rows = varints(np.array(numbers, np.int64))
    assert rows.shape[1] == len(varint(max(numbers)))
    for number, row in zip(numbers, rows, strict=True):
        event = TrackEvent.FromString(bytes([11 << 3]) + row.tobytes())  # track_uuid
        assert event.track_uuid == number


@pytest.mark.slow
@given(NUMBERS, st.text(max_size=200))
def test_messages_of_one_shape(numbers: list[int], text: str) -> None:
    values = np.array(numbers, np.int64)
    argument = Messages().text(10, text).number(4, values)
    event = Messages().number(9, 1).number(11, values).message(4, argument).fixed64(47, values).fixed64(44, values / 2)
    for number, row in zip(numbers, event.rows(len(values)), strict=True):
        found = TrackEvent.FromString(row.tobytes())
        assert (found.type, found.track_uuid, list(found.flow_ids)) == (1, number, [number])
        assert found.double_counter_value == number / 2
        assert [(one.name, one.int_value) for one in found.debug_annotations] == [(text, number)]


def test_rows_of_several_shapes_stand_in_their_order() -> None:
    wide, narrow = np.array([[1, 2, 3], [4, 5, 6]], np.uint8), np.array([[7]], np.uint8)
    assert join_rows([(np.array([0, 2]), wide), (np.array([1]), narrow)]).tolist() == [1, 2, 3, 7, 4, 5, 6]
