"""The public names are those of the list, and each exists."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kernbench


def test_every_public_name_is_there() -> None:
    assert set(kernbench.__all__) == set(kernbench._HOMES) <= set(dir(kernbench))
    for name in kernbench.__all__:
        assert getattr(kernbench, name) is not None


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError, match=r"module 'kernbench' has no attribute 'rum'"):
        kernbench.rum  # noqa: B018


def test_importing_loads_nothing() -> None:
    script = "import sys; before = set(sys.modules); import kernbench; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "numba", "polars", "click", "kernbench.host"}
