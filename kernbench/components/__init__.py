"""The former name of `kernbench.parts`, so that drop-ins which import it work for one more release."""

import sys
from importlib import import_module
from pkgutil import iter_modules

from kernbench import parts

for _part in iter_modules(parts.__path__):
    sys.modules[f"{__name__}.{_part.name}"] = import_module(f"{parts.__name__}.{_part.name}")
