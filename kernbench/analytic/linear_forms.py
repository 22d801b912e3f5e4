"""Linear forms: how many of each atom of a `Basis` a bound adds up, one form a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernbench.arrays import unique_rows


class Forms(NamedTuple):
    """A form of each of some resources."""

    kind: str  # "server", "station", "path"
    at: np.ndarray  # int64[form] which of them; of a path the server it spends most on, or NONE
    forms: np.ndarray  # float64[form, atom]

    def distinct(self) -> Forms:
        """Each form once, of the first resource that has it."""
        found = unique_rows(self.forms)
        return Forms(self.kind, self.at[found.first], found.rows)


class Durations(NamedTuple):
    """The durations of a program: each a multiple of one atom."""

    atom: np.ndarray  # int64[duration]
    amount: np.ndarray  # int64[duration]
