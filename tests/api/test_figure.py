"""Figures as objects: in a notebook, in a browser, and in files."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import kernbench
from kernbench.api.figure import Figure
from kernbench.errors import InputError, RunError
from tests.sweep import fakes

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What a notebook is asked to show, as long as one runs this."""
    found: list[object] = []
    module, display = ModuleType("IPython"), ModuleType("IPython.display")
    setattr(module, "get_ipython", object)  # noqa: B010
    setattr(module, "version_info", (9, 0))  # noqa: B010  # matplotlib looks
    setattr(display, "display", found.append)  # noqa: B010
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser is asked to open, where there is no notebook."""
    found: list[str] = []

    def note(address: str) -> bool:
        found.append(address)
        return True

    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(webbrowser, "open", note)
    return found


def test_a_notebook_shows_a_figure(shown: list[object]) -> None:
    figure = Figure("pareto", SVG)
    figure.show()
    assert shown == [figure]
    assert figure._repr_svg_() == SVG
    assert repr(figure) == "<Figure pareto; .show(), .svg, .write(path)>"


def test_elsewhere_a_browser_opens_it(opened: list[str]) -> None:
    kernbench.diagram("tiny").show()
    (address,) = opened
    assert Path(address.removeprefix("file://")).read_text(encoding="utf-8").startswith("<svg")


def test_without_either_a_sentence_says_what_would_do(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    never: Callable[[str], bool] = lambda _: False  # noqa: E731
    monkeypatch.setattr(webbrowser, "open", never)
    with pytest.raises(
        RunError, match=r"^there is neither a notebook nor a browser to show a figure in; \.write\(path\)"
    ):
        Figure("x", SVG).show()


@pytest.mark.slow
def test_a_sweep_has_the_figures_that_the_command_writes(
    tmp_path: Path, shown: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grid = {**fakes.toy_grid(tmp_path, M=[1, 2, 4], N=[1, 2]), "bench": "gemm-single-pe"}
    result = kernbench.sweep(grid, tmp_path / "out", workers=1)
    figures = result.figures()
    written = {path.stem: path for path in result.plot(tmp_path / "plots").values() if path.suffix == ".svg"}
    assert {name: one.svg for name, one in figures.items()} == {
        name: path.read_text(encoding="utf-8") for name, path in written.items()
    }
    assert result.figure("latency") == figures["latency"]
    with pytest.raises(InputError, match=r"^there is no figure 'latncy'; did you mean 'latency'\? Known: "):
        result.figure("latncy")
    result.show()
    assert shown == list(figures.values())


@pytest.mark.slow
def test_an_evaluation_has_its_figures(tmp_path: Path, shown: list[object]) -> None:
    result = kernbench.evaluate("gemm", "tiny", settings={"shapes": [(32, 64, 32)]})
    figures = result.figures()
    assert list(figures) == sorted(path.stem for path in result.plot(tmp_path) if path.suffix == ".svg")
    for name, figure in figures.items():
        assert figure.svg == (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    result.show()
    assert shown == list(figures.values())
