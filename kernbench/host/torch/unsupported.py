"""Names of PyTorch that are not modelled: each is refused with an alternative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NoReturn

from kernbench.errors import InputError, suggest


class UnsupportedError(InputError, AttributeError):
    """A name of PyTorch that this runtime does not have; an AttributeError too, so that `hasattr` works."""


class Namespace:
    """A part of `torch`. A name that it lacks is refused with an alternative, or with the names it has."""

    title: ClassVar[str]  # as the user writes it
    refused: ClassVar[Mapping[str, str]] = {}  # name → why not, and what to do instead
    hidden: ClassVar[Sequence[str]] = ("title", "refused", "hidden")  # names that are not for benches

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        instead = self.refused.get(name)
        known = [known for known in dir(type(self)) if not known.startswith("_") and known not in self.hidden]
        tail = f": {instead}" if instead else suggest(name, known, most=len(known))
        raise UnsupportedError(f"{self.title} has no {name!r}{tail}")
