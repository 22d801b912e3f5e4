"""The second cache of the processor: how fast the loop is depends on it, what comes out of it does not."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

_LINUX = Path("/sys/devices/system/cpu/cpu0/cache/index2")
_USUAL = 1 << 19  # bytes, where the system does not tell


@cache
def second_cache_bytes() -> int:
    """The size of a core's second cache as Linux tells it, or half a MiB."""
    return read_bytes(_LINUX) or _USUAL


def read_bytes(cache_of_cpu: Path) -> int | None:
    """The bytes of a second cache that Linux describes in a directory; None for another cache or an unknown size."""
    with suppress(OSError, ValueError):
        level, size = ((cache_of_cpu / name).read_text(encoding="ascii").strip() for name in ("level", "size"))
        if level == "2" and size.endswith("K"):
            return int(size.removesuffix("K")) * 1024 or None
    return None
