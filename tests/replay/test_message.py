"""Messages keep their numbers until their slot is written."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from kernbench.program.program import Program
from kernbench.program.rows import pack_row
from kernbench.replay.message import Message, last_stage
from kernbench.replay.replay import RunTimes
from kernbench.replay.timed_store import TimedStore

SLOT = (7, 16)


def sent(data, times):
    """A store with a message under way, whose second and last stage is row 1."""
    program = Program(SimpleNamespace(figures={}))
    plan = program.token(2 * pack_row(0, 1, 0, 0, -1, 0, 0, 0, 0), {})
    program.flush()
    store = TimedStore(times)
    store.begin(Message(partial(last_stage, program, plan), (0, plan), SLOT, data, store.raw))
    return store


def at(times, now_fs, *end_fs):
    times.now_fs, times.issue_fs, times.end_fs = now_fs, np.array(end_fs), np.array(end_fs)


def test_a_message_is_a_copy():
    times, data = RunTimes(), np.arange(4, dtype=np.float32)
    store = sent(data, times)
    data[:] = 9
    at(times, 20, 5, 10)
    assert store.read(*SLOT, 16).view(np.float32).tolist() == [0, 1, 2, 3]


def test_a_slot_is_written_at_the_end_of_its_stage():
    times = RunTimes()
    store = sent(np.ones(4, np.uint8), times)
    at(times, 9, 5, -1)
    assert store.read(*SLOT, 4).tolist() == [0, 0, 0, 0]
    at(times, 9, 5, 10)
    assert store.read(*SLOT, 4).tolist() == [0, 0, 0, 0]
    at(times, 10, 5, 10)
    assert store.read(*SLOT, 4).tolist() == [1, 1, 1, 1]


def test_transposed_numbers_are_sent_row_by_row():
    times = RunTimes()
    store = sent(np.arange(6, dtype=np.int8).reshape(2, 3).T, times)
    at(times, 10, 5, 10)
    assert store.read(*SLOT, 6).tolist() == [0, 3, 1, 4, 2, 5]


def test_what_is_written_to_a_slot_before_the_message_is_overwritten_by_it():
    times = RunTimes()
    store = sent(np.ones(2, np.uint8), times)
    at(times, 9, 5, 10)
    store.write(*SLOT, np.full(4, 3, np.uint8))
    at(times, 11, 5, 10)
    assert store.read(*SLOT, 4).tolist() == [1, 1, 3, 3]
    store.write(*SLOT, np.full(4, 5, np.uint8))
    assert store.read(*SLOT, 4).tolist() == [5, 5, 5, 5]
