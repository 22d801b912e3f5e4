"""Digests inside of files: every single flipped bit is found or changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars
import pytest

from kernbench.errors import InputError
from kernbench.sealing import (
    FIELD,
    MARK,
    dump_sealed_json,
    load_sealed_json,
    read_sealed_parquet,
    seal_parquet,
)

TABLE = polars.DataFrame({"M": [1, 2, 3], "name": ["a", None, "c"], "latency_ns": [1.5, None, 0.1]})
SUMMARY = {"latency_ns": 1.5, "of": {"a": [1, 2.5, None], "b": "ü"}, "sizes": (1, 2), 3: float("inf")}


def write_table(path: Path) -> bytes:
    TABLE.write_parquet(path)
    seal_parquet(path)
    return path.read_bytes()


def test_a_sealed_table_is_a_table_for_everybody(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    assert write_table(path).count(MARK) == 1
    assert read_sealed_parquet(path).equals(TABLE)
    assert polars.read_parquet(path).equals(TABLE)
    assert polars.scan_parquet(path).filter(polars.col("M") > 1).collect().equals(TABLE[1:])


def test_a_table_without_a_digest_is_believed(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "x.parquet")
    assert read_sealed_parquet(tmp_path / "x.parquet").equals(TABLE)


@pytest.mark.slow
def test_every_flipped_bit_of_a_table_is_named_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    content = write_table(path)
    sentence, named = f"{path} is damaged: it is not what was written there; make it again with the same command", 0
    for place in range(len(content)):
        for bit in range(8) if place % 16 == 0 else (place % 8,):
            spoilt = bytearray(content)
            spoilt[place] ^= 1 << bit
            path.write_bytes(spoilt)
            try:
                assert read_sealed_parquet(path).equals(TABLE)
            except InputError as error:
                named += str(error) == sentence
    assert named > len(content) - len(MARK)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_half_a_table_is_no_table(tmp_path: Path, share: float) -> None:
    path = tmp_path / "x.parquet"
    content = write_table(path)
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises((InputError, polars.exceptions.PolarsError)):
        read_sealed_parquet(path)


def test_an_object_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(dump_sealed_json(SUMMARY), encoding="utf-8")
    assert next(iter(json.loads(path.read_text(encoding="utf-8")))) == FIELD
    assert load_sealed_json(path) == json.loads(json.dumps(SUMMARY))


@pytest.mark.parametrize("text", ["[1]", '{"a": 1}', "3"])
def test_what_has_no_digest_is_believed(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert load_sealed_json(tmp_path / "x.json") == json.loads(text)


@pytest.mark.slow
def test_every_flipped_bit_of_an_object_is_found_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    content = dump_sealed_json(SUMMARY).encode()
    as_read, found = json.loads(json.dumps(SUMMARY)), 0
    for place, bit in np.ndindex(len(content), 8):
        spoilt = bytearray(content)
        spoilt[place] ^= 1 << bit
        path.write_bytes(spoilt)
        try:
            read = load_sealed_json(path)
            assert {name: value for name, value in read.items() if name in as_read} == as_read
        except (InputError, ValueError):
            found += 1
    assert found > 4 * len(content)
