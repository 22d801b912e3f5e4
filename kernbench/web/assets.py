"""The built files of the page, read once. `kernbench/web/page` has their sources, and docs/web.md says how they are built."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("assets")
TYPES = {
    "index.html": "text/html; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "licences.txt": "text/plain; charset=utf-8",
}


@cache
def read_assets() -> dict[str, tuple[str, bytes]]:
    """The type and the bytes of each file, by its path in URLs."""
    files = {f"/{name}": (kind, (FOLDER / name).read_bytes()) for name, kind in TYPES.items()}
    return {"/": files["/index.html"], **files}
