"""Messages keep their numbers until they are received."""

import numpy as np
import pytest

from kernbench.replay.mailbox import Mailbox


def test_a_message_is_a_copy():
    box, data = Mailbox(), np.arange(4, dtype=np.float32)
    box.put("a:E", 0, data)
    data[:] = 9
    assert box.look("a:E", 0) == ((4,), "f32")
    assert box.take("a:E", 0, (2, 2), "f32").tolist() == [[0, 1], [2, 3]]


def test_a_message_is_taken_once():
    box = Mailbox()
    box.put("a:E", 0, np.zeros(1, np.float16))
    box.take("a:E", 0, (1,), "f16")
    with pytest.raises(KeyError):
        box.take("a:E", 0, (1,), "f16")


def test_messages_are_kept_apart_by_queue_and_number():
    box = Mailbox()
    for queue in ("a:E", "b:E"):
        for index in range(2):
            box.put(queue, index, np.array([f"{queue}{index}".encode()[0] + index], np.uint8))
    assert [int(box.take(q, i, (1,), "u8")[0]) for q in ("b:E", "a:E") for i in (1, 0)] == [99, 98, 98, 97]


def test_transposed_numbers_are_sent_row_by_row():
    box = Mailbox()
    box.put("a:E", 0, np.arange(6, dtype=np.int8).reshape(2, 3).T)
    assert box.take("a:E", 0, (6,), "i8").tolist() == [0, 3, 1, 4, 2, 5]


def test_bytes_may_be_read_as_another_type():
    box = Mailbox()
    box.put("a:E", 0, np.array([1, 0], np.uint16))
    assert box.take("a:E", 0, (1,), "u32").tolist() == [1]
