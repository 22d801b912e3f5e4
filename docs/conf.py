"""How Sphinx reads these pages; `make docs` builds them. They read just as well as plain Markdown."""

from __future__ import annotations

project = "KernBench"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "README"
html_theme = "alabaster"
myst_heading_anchors = 3
