"""Tables as the page gets them."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars


def to_arrow(table: polars.DataFrame) -> bytes:
    """An Arrow file of one batch, not compressed: the page reads its columns without a copy."""
    import polars

    file = BytesIO()
    table.rechunk().write_ipc(
        file, compression="uncompressed", compat_level=polars.CompatLevel.oldest(), record_batch_size=max(len(table), 1)
    )
    return file.getvalue()
