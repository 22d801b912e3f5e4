"""The public names are those of the list, and each exists."""

from __future__ import annotations

import ast
import pydoc
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kernbench
from kernbench import analytic


def _public() -> dict[str, tuple[str, str]]:
    """The names that type checkers see, each with its module and its name there."""
    statements = ast.walk(ast.parse(Path(kernbench.__file__).read_text(encoding="utf-8")))
    imported = [(str(one.module), name) for one in statements if isinstance(one, ast.ImportFrom) for name in one.names]
    found = {name.asname: (home, name.name) for home, name in imported if name.asname}
    return {
        **found,
        "fit": ("kernbench.fitting.fit", "fit_machine"),
        "run": ("kernbench.frontends.run", "run_bench"),
    }


def test_every_public_name_is_there() -> None:
    own = set(dir(kernbench)) - {"TYPE_CHECKING", "Any", "annotations", "import_module"}
    modules = {path.stem for path in Path(kernbench.__file__).parent.iterdir()}
    assert {name for name in own if not name.startswith("_")} - modules == set(_public()) - modules
    for name, (home, attribute) in _public().items():
        if name != "sweep":  # the package, which is callable as the function is
            assert getattr(import_module(home), attribute) is getattr(kernbench, name)


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
    assert set(re.findall(r"kernbench\.(\w+)\(", str(kernbench.__doc__))) <= set(_public())


def test_help_is_a_page_that_has_every_public_name() -> None:
    page = pydoc.TextDoc().document(kernbench)
    assert len(page.splitlines()) < 150
    assert set(_public()) <= set(re.findall(r"\w+", page.partition("What the package offers")[2]))


def test_types_are_for_users_too() -> None:
    assert (Path(kernbench.__file__).parent / "py.typed").is_file()


def test_importing_loads_nothing() -> None:
    script = "import sys; before = set(sys.modules); import kernbench; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "numba", "polars", "click", "kernbench.host"}


def test_the_api_page_has_every_public_name() -> None:
    page = (Path(kernbench.__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto\w+:: kernbench\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(_public())
