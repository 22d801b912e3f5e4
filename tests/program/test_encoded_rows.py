"""Encoded rows against the arrays that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kernbench.program.encoded_rows import EncodedRows


@given(st.data())
def test_they_read_as_their_array(data: st.DataObject) -> None:
    entries = data.draw(st.integers(1, 5))
    shape = data.draw(st.sampled_from([(entries,), (entries, 3)]))
    values = data.draw(arrays.arrays(np.int64, shape, elements=st.integers(-9, 9)))
    entry = np.array(data.draw(st.lists(st.integers(0, entries - 1), max_size=20)), np.int32)
    rows, array = EncodedRows(values, entry), values[entry]
    assert (len(rows), rows.shape, rows.tolist()) == (len(array), array.shape, array.tolist())
    mask = np.array([data.draw(st.booleans()) for _ in entry], bool)
    some = np.flatnonzero(mask)
    for key in (slice(None), slice(1, -1), mask, some, *some[:1].tolist()):
        assert (rows[key] == array[key]).all()
        if array.ndim == 2:
            assert (rows[key, 1] == array[key, 1]).all()
            assert (rows[key, 1:] == array[key, 1:]).all()
    assert ((rows != 3) == (array != 3)).all()
    assert (2 - rows == 2 - array).all()
    assert (np.argsort(rows, axis=0) == np.argsort(array, axis=0)).all()
    assert rows.counts().tolist() == np.bincount(entry, minlength=entries).tolist()
    assert rows.counts(mask).tolist() == np.bincount(entry[mask], minlength=entries).tolist()


def test_they_are_no_view_of_an_array() -> None:
    rows = EncodedRows(np.arange(3), np.zeros(4, np.int32))
    assert np.array(rows, np.float64).tolist() == [0.0] * 4
    with pytest.raises(ValueError, match="only by a copy"):
        rows.__array__(copy=False)
