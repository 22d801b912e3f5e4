"""The built files of the page, read once. `kernbench/web/page` has their sources, and docs/web.md says how they are built."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("assets")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


@cache
def read_assets() -> dict[str, tuple[str, bytes]]:
    """The type and the bytes of each file, by its path in URLs."""
    found = (path for path in FOLDER.iterdir() if path.suffix in TYPES)
    files = {f"/{path.name}": (TYPES[path.suffix], path.read_bytes()) for path in found}
    return {"/": files["/index.html"], **files}
