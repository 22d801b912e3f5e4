"""What Linux tells of a processor's second cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.engine.second_cache import read_bytes, second_cache_bytes


@pytest.mark.parametrize(
    ("level", "size", "expected"),
    [
        ("2\n", "1024K\n", 1 << 20),
        ("2", "1280K", 1280 << 10),
        ("3\n", "32768K\n", None),
        ("2\n", "0K\n", None),
        ("2\n", "1M\n", None),
        ("2\n", "\n", None),
        ("2\n", "K\n", None),
        ("2\n", "½K\n", None),
    ],
)
def test_sizes(tmp_path: Path, level: str, size: str, expected: int | None) -> None:
    (tmp_path / "level").write_text(level, encoding="utf-8")
    (tmp_path / "size").write_text(size, encoding="utf-8")
    assert read_bytes(tmp_path) == expected


def test_a_system_that_tells_nothing(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "none") is None


def test_there_is_always_a_size() -> None:
    assert second_cache_bytes() >= 1 << 10
