"""What a machine must not exceed: limits that a topology may give, each with its unit."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Gt
from pydantic import Field

from kernbench.schema.fields import Quantity
from kernbench.schema.model import Model


class Limits(Model):
    """Limits of a machine; one that is not given holds nothing back."""

    package_w: Annotated[float, Gt(0), Quantity("W", bare=False)] | None = Field(
        default=None, description="most power of a package, for which its cooling is built (TDP)"
    )
    reticle_mm2: Annotated[float, Gt(0), Quantity("mm2", bare=False)] | None = Field(
        default=None, description="largest die that can be made"
    )
    shoreline_gbs_mm: Annotated[float, Gt(0), Quantity("GB/s/mm", bare=False)] | None = Field(
        default=None, description="most bandwidth of die-to-die links, each way, on each mm of a die's edge"
    )
