"""The public names are those of the list, and each exists."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kernbench
from kernbench import analytic


def test_every_public_name_is_there() -> None:
    assert set(kernbench.__all__) <= set(dir(kernbench))
    for name in kernbench.__all__:
        assert getattr(kernbench, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    statements = ast.walk(ast.parse(Path(kernbench.__file__).read_text(encoding="utf-8")))
    imported = [
        (found.module, name) for found in statements if isinstance(found, ast.ImportFrom) for name in found.names
    ]
    ours = {name.asname or name.name: (home, name.name) for home, name in imported if str(home).startswith("kernbench")}
    assert set(ours) == set(kernbench.__all__)
    for name, (home, attribute) in ours.items():
        if name != "sweep":  # the package, which is callable as the function is
            assert getattr(import_module(str(home)), attribute) is getattr(kernbench, name)


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError, match=r"module 'kernbench' has no attribute 'rum'"):
        kernbench.rum  # noqa: B018


def test_bounds_have_one_door() -> None:
    assert {"BoundModel", "Bounds", "LaunchBoundModel", "bounds", "record_bench"} == set(analytic.__all__)
    assert set(analytic.__all__) <= set(dir(analytic))
    for name in analytic.__all__:
        assert getattr(analytic, name).__name__ == name


def test_type_checkers_see_the_names_of_bounds() -> None:
    statements = ast.walk(ast.parse(Path(str(analytic.__file__)).read_text(encoding="utf-8")))
    imported = [found for found in statements if isinstance(found, ast.ImportFrom) and found.module is not None]
    homes = {name.name: found.module for found in imported for name in found.names if "kernbench" in str(found.module)}
    assert set(homes) == set(analytic.__all__)
    for name, home in homes.items():
        assert getattr(import_module(str(home)), name) is getattr(analytic, name)


def test_the_version_and_the_page_of_help() -> None:
    from importlib.metadata import version

    assert kernbench.__version__ == version("kernbench")
    assert str(kernbench.__doc__).startswith("KernBench: how fast will a kernel run")
    for name in re.findall(r"kernbench\.(\w+)\(", str(kernbench.__doc__)):
        assert name in kernbench.__all__


def test_types_are_for_users_too() -> None:
    assert (Path(kernbench.__file__).parent / "py.typed").is_file()


def test_importing_loads_nothing() -> None:
    script = "import sys; before = set(sys.modules); import kernbench; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "numba", "polars", "click", "kernbench.host"}


def test_the_api_page_has_every_public_name() -> None:
    page = (Path(kernbench.__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto\w+:: kernbench\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == kernbench.__all__
