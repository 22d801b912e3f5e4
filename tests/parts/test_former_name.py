"""Drop-ins that import `kernbench.components` get the classes of `kernbench.parts`."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from kernbench import parts

MODULES = [one.name for one in iter_modules(parts.__path__)]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_the_same_by_its_former_name(module: str) -> None:
    assert import_module(f"kernbench.components.{module}") is import_module(f"kernbench.parts.{module}")
