"""The prices of a checked topology, from the `energy` and `silicon` blocks of its sheets."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.machine.dies import DieSize
from kernbench.machine.price_list import AJ_PER_PJ, NW_PER_MW, UM2_PER_MM2, UM_PER_MM, PartPrices, PriceList, area_um2
from kernbench.parts.memory import MIB
from kernbench.parts.part import Part
from kernbench.parts.prices import Prices, Silicon
from kernbench.parts.technology import Technology, scale

if TYPE_CHECKING:
    from kernbench.schema.model import Model


def list_prices(spec: Model, standard: Mapping[str, type[Part]], sizes: Mapping[str, DieSize]) -> PriceList:
    """The prices of a checked topology with dies of these sizes by kind; `standard`: the standard class of each part.

    Errors: InputError for figures of a technology that no rule brings to that of the dies.
    """
    technology, limits = (getattr(spec, name, None) for name in ("technology", "limits"))
    assert technology is None or isinstance(technology, Technology)
    parts = {name: _price(name, part, standard[name], technology) for name, part in spec if isinstance(part, Part)}
    return PriceList(
        parts={name: prices for name, prices in parts.items() if prices is not None},
        technology={} if technology is None else technology.figures(),
        outlines={kind: round(size.mm2 * UM2_PER_MM2) for kind, size in sizes.items()},
        shores={
            kind: {name: round(mm * UM_PER_MM) for name, mm in size.shores_mm.items()} for kind, size in sizes.items()
        },
        limits={} if limits is None else {name: value for name, value in limits if value is not None},
    )


def _price(name: str, part: Part, standard: type[Part], technology: Technology | None) -> PartPrices | None:
    """The prices of a part; None for one that has none, such as an order of tiles."""
    actions = _actions(standard)
    if actions is None:
        return None
    silicon: Silicon = getattr(part, "silicon", Silicon())
    prices: Any = getattr(part, "energy", None)
    try:
        energy_times, area_times = scale(silicon.node_nm, technology.node_nm) if technology else (1.0, 1.0)
    except ValueError as error:
        raise InputError(f"{name}.silicon.node_nm: {error}") from None
    energy_times *= _size_times(silicon.size_mib, part)
    given = {
        action: getattr(prices, f"{action}_pj", None) for action in (*actions, *(prices.actions() if prices else ()))
    }
    times, rate = part.area_scale()
    fixed_um2, each_um2 = (
        None if mm2 is None else mm2 * area_times * UM2_PER_MM2 for mm2 in (silicon.area_mm2, silicon.area_each_mm2)
    )
    each_um2 = None if each_um2 is None else each_um2 * times
    return PartPrices(
        energy={
            action: None if price is None else round(price * energy_times * AJ_PER_PJ)
            for action, price in given.items()
        },
        area_um2=area_um2(fixed_um2, each_um2, getattr(part, rate) if rate else 1.0),
        fixed_um2=fixed_um2,
        each_um2=each_um2,
        rate=rate,
        static_nw=round((silicon.static_mw or 0) * energy_times * NW_PER_MW),
        usd_gb=silicon.usd_gb,
        memory_bytes=part.memory_bytes(),
        bought=silicon.bought,
    )


def _size_times(size_mib: float | None, part: Part) -> float:
    """What the prices of a scratchpad are multiplied by at its size: its wires grow with the side, the root of the area."""
    size = part.size_bytes()
    return sqrt(size / MIB / size_mib) if size and size_mib else 1.0


def _actions(standard: type[Part]) -> list[str] | None:
    field = standard.model_fields.get("energy")
    prices: Any = None if field is None else field.annotation
    assert prices is None or issubclass(prices, Prices)
    return None if prices is None else prices.actions()
