"""An order of tests in which processes that share them end together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain, groupby, islice
from typing import TypeVar

T = TypeVar("T")


def deal(tests: Sequence[T], workers: int, file_of: Callable[[T], Hashable], is_slow: Callable[[T], bool]) -> list[T]:
    """The equal runs of tests that processes begin with, one after the other: files with slow tests come first in each.

    Tests of such a file stay together, since they share what they set up.
    """
    slow_files = {file_of(test) for test in tests if is_slow(test)}
    shares: list[list[T]] = [[] for _ in range(workers)]
    for _, file in groupby((test for test in tests if file_of(test) in slow_files), file_of):
        min(shares, key=len).extend(file)
    quick = (test for test in tests if file_of(test) not in slow_files)
    for number, share in enumerate(shares):
        size = len(tests) * (number + 1) // workers - len(tests) * number // workers
        share.extend(islice(quick, max(0, size - len(share))))
    return [*chain.from_iterable(shares), *quick]
