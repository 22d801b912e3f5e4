"""How Sphinx reads our pages: `make docs`. They are plain Markdown and read as well without it.

The project's own folder is the source, so that pages link to each other the same way here as on a code host.
"""

from __future__ import annotations

project = "KernBench"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "results/README.md",
    "sweeps/README.md",
]
root_doc = "README"
html_theme = "alabaster"
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # the pages link to each other
