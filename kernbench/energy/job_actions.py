"""The actions of jobs: what a duration of a program means in amounts that have prices.

A duration is a sum of amounts of figures (`pe_gemm.flop_16`). A figure is an action of the same name; an overhead is a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernbench.machine.costs import FLOP

if TYPE_CHECKING:
    from kernbench.machine.costs import Terms
    from kernbench.machine.price_list import PriceList

_JOB = "overhead"  # the figure of the time that each job of a part takes
_OF_ENGINE = {FLOP: "pe_gemm.flop"}
_COUNTED = (
    "pe_gemm",
    "pe_math",
    "pe_tcm",
)  # parts whose drop-ins count in figures of their own, which must have a price


class Action(NamedTuple):
    """An amount of an action of a part; `price` in aJ, None without a figure."""

    part: str
    name: str
    amount: float
    price: int | None

    @property
    def energy_aj(self) -> int:
        """The energy, 0 without a figure."""
        return 0 if self.price is None else round(self.price * self.amount)


def list_actions(prices: PriceList, terms: Terms) -> Sequence[Action]:
    """The actions of a duration; none of what takes time alone, such as a wait."""
    found: list[Action] = []
    for figure, amount in terms:
        part, _, name = _OF_ENGINE.get(figure, figure).partition(".")
        name = "job" if name == _JOB else name
        known = prices.parts.get(part)
        if known is not None and name in known.energy:
            found.append(Action(part, name, _whole(amount), known.energy[name]))
        elif part in _COUNTED and known is not None and figure == terms[-1][0] and not found:
            found.append(Action(part, name, _whole(amount), None))
    return found


def _whole(amount: float) -> float:
    """A number that is whole as int, so that its product with a price is exact."""
    return int(amount) if amount == int(amount) else amount
