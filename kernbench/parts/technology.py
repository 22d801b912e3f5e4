"""What dies are made in, and what a package costs: the constants of a technology node."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from kernbench.parts.part import Part
from kernbench.schema.fields import DefectsPerMm2, Mm, Nm, PjPerByteMm, Usd, UsdPerMm2, WPerMm2

SMALL_NM = 7  # from here down figures of one node follow from those of another
NODES = (3, 4, 5, 6, 7, 10, 12, 14, 16, 20, 28, 40, 45, 65)  # nm, that figures are published of


def _is_node(node_nm: int) -> int:
    if node_nm not in NODES:
        raise ValueError(f"got {node_nm} nm, an unknown node; known: {', '.join(map(str, NODES))} nm")
    return node_nm


Node = Annotated[Nm, AfterValidator(_is_node)]


class Technology(Part):
    """A technology node. Figures of other nodes are brought to it by `scale`."""

    kind: ClassVar[str] = "technology"
    node_nm: Node = Field(description="technology of the dies")
    wire_pj_mm: PjPerByteMm = Field(description="energy of each byte on each mm of wire on a die")
    static_w_mm2: WPerMm2 = Field(description="power of each mm² of die while it does nothing")
    wafer_usd: Usd = Field(description="price of a wafer")
    wafer_mm: Mm = Field(description="diameter of a wafer")
    edge_mm: Mm = Field(description="edge of a wafer without dies")
    scribe_mm: Mm = Field(description="line around a die where it is cut")
    defects_mm2: DefectsPerMm2 = Field(description="defects of a wafer in each mm²")
    clustering: Annotated[float, Field(gt=0, le=100)] = Field(
        description="exponent α of the yield (1 + area × defects / α)^−α"
    )
    package_usd: Usd = Field(description="price of a package whatever its size")
    substrate_usd_mm2: UsdPerMm2 = Field(description="price of each mm² of the substrate of a package")
    substrate_times: Annotated[float, Field(ge=1, le=100)] = Field(
        description="area of a substrate over that of the dies on it"
    )


def scale(figures_nm: int | None, node_nm: int) -> tuple[float, float]:
    """What energies and areas of one node are multiplied by at another.

    Without a node they hold for any. Below 10 nm areas go with the node and energies with its root (HWComponents,
    `scaling/techscaling.py`); others have no rule here. Errors: ValueError, a sentence.
    """
    if figures_nm is None or figures_nm == node_nm:
        return 1.0, 1.0
    if max(figures_nm, node_nm) > SMALL_NM:
        raise ValueError(
            f"figures of {figures_nm} nm have no rule to a die of {node_nm} nm: energies go with the root of the node and "
            f"areas with it from {SMALL_NM} nm down; give figures of {node_nm} nm"
        )
    return (node_nm / figures_nm) ** 0.5, node_nm / figures_nm
