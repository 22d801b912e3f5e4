"""Each process begins with its share of the slow files, and every test is there once."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.balance import deal

Test = tuple[str, int, bool]  # its file, its number there, whether it is slow


def deal_tests(tests: list[Test], workers: int) -> list[Test]:
    return deal(tests, workers, lambda test: test[0], lambda test: test[2])


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_slow_files_come_first_in_each_run(workers: int) -> None:
    files = {f"{'slow' if number % 4 == 0 else 'quick'}{number}": 5 + number % 3 for number in range(60)}
    tests = [(file, number, file[0] == "s" and number == 2) for file, count in files.items() for number in range(count)]
    dealt = deal_tests(tests, workers)
    assert sorted(dealt) == sorted(tests)
    assert dealt != tests
    ends = [len(tests) * number // workers for number in range(workers + 1)]
    slow = []
    for first, end in pairwise(ends):
        kinds = [file[0] for file, _, _ in dealt[first:end]]
        assert kinds == sorted(kinds, reverse=True)
        slow.append(kinds.count("s"))
    assert max(slow) - min(slow) <= 7  # of the longest file
    places = [file for file, _, _ in dealt if file[0] == "s"]
    assert all("".join(places).count(file * files[file]) == 1 for file in set(places))


def test_more_slow_tests_than_a_share_lose_none() -> None:
    tests = [*[("slow", number, True) for number in range(9)], ("quick", 0, False)]
    assert deal_tests(tests, 2) == tests
    assert deal_tests([], 3) == []
