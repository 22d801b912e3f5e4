"""Fields in words, and that every field of every family and drop-in has its words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import Field

from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.load import model_files
from kernbench.machine.sheets.model_sheets import read_model_sheet, standard_parts
from kernbench.parts import dropin
from kernbench.schema.described import as_text, describe_fields
from kernbench.schema.fields import Bytes, Count, CyclesOrZero, Mm, Ns
from kernbench.schema.model import Model


class Grade(StrEnum):
    BEST = "best"
    GOOD = "good"


class Inner(Model):
    size_bytes: Bytes = Field(description="how large")


class Outer(Model):
    inner: Inner
    count: Annotated[Count, Field(le=64)] = 3
    wait_ns: Annotated[Ns, Field(gt=0)]
    after: CyclesOrZero | None = None
    grade: Grade = Grade.GOOD
    side: Literal["N", "S"]
    on: bool = True
    places: list[tuple[Mm, Mm]] = Field(default=[(1, 2.5)], min_length=1)


def test_fields_are_described_by_their_types() -> None:
    found = {one.path: (one.values, one.unit, one.default) for one in describe_fields(Outer)}
    assert found == {
        "inner.size_bytes": ("whole number, 1 B to 1 TiB", "B", None),
        "count": ("whole number, 1 to 64", "", "3"),
        "wait_ns": ("number, above 0 to 1,000,000,000", "ns", None),
        "after": ("whole number, 0 or more", "cycle", "none"),
        "grade": ("best, good", "", "good"),
        "side": ("N, S", "", None),
        "on": ("true, false", "", "true"),
        "places": ("[[number, number], ...], 1 of them or more", "mm", "[[1, 2.5]]"),
    }
    assert describe_fields(Outer)[0].meaning == "how large"


def test_values_are_texts_as_in_yaml() -> None:
    assert as_text({"N": ["r0c1", 2], "on": None}) == "{N: [r0c1, 2], on: none}"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_of_a_family_has_a_meaning(family: str) -> None:
    found = describe_fields(FAMILIES[family].spec)
    assert found
    assert not [field.path for field in found if not field.meaning]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_with_a_unit_in_its_name_has_that_unit(family: str) -> None:
    units = {
        "ns": ["ns"],
        "gbs": ["GB/s"],
        "ghz": ["GHz"],
        "mm": ["mm", "ns/mm", "GB/s/mm", "pJ/B/mm"],
        "mm2": ["mm2", "W/mm2", "defect/mm2", "USD/mm2"],
        "pj": ["pJ", "pJ/B"],
        "bytes": ["B", "B/cycle"],
        "cycles": ["cycle"],
    }
    for field in describe_fields(FAMILIES[family].spec):
        name = field.path.rpartition(".")[2].rpartition("_")[2]
        assert field.unit in units.get(name, [field.unit]), field


def test_every_field_of_a_shipped_drop_in_has_a_meaning() -> None:
    classes = [
        dropin.load_class(file, standard_parts()[read_model_sheet(file.with_suffix(".yaml")).kind])
        for file in model_files()
        if file.suffix == ".py"
    ]
    assert len(classes) >= 4
    assert not [field.path for one in classes for field in describe_fields(one) if not field.meaning]
