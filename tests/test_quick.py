"""`make quick` runs folders of tests that exist."""

from __future__ import annotations

import re

from tests.own_files import ROOT


def test_the_first_tier_is_of_folders_with_tests() -> None:
    listed = re.findall(r"^QUICK := \$\(addprefix tests/,(.+)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(listed) == 1
    assert [name for name in listed[0].split() if not any((ROOT / "tests" / name).glob("test_*.py"))] == []
