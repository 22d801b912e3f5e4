"""How Sphinx builds our pages as a site: `make docs`. They are plain Markdown and read as well without it.

The project's own folder is the source, so that pages link to each other the same way here as on a code host. The index,
`docs/README.md`, has a table of pages under each heading; these tables are the navigation of the site.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[1]))  # the API is that of this checkout

project = "KernBench"
release = metadata.version("kernbench")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "docs/tutorials/*.md",
    *(f"{kind}/README.md" for kind in ("benches", "models", "results", "sweeps")),
]
root_doc = "docs/README"

html_theme = "furo"
html_title = f"KernBench {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_extra_path = ["site/root"]  # index.html leads to the index, which has another name
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

myst_heading_anchors = 3
default_role = "code"  # of docstrings, where names stand between single backticks
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # as the source writes them
maximum_signature_line_length = 100
autodoc_member_order = "bysource"
suppress_warnings = ["toc.not_included"]  # pages of a folder that the index shows by their own index

_GROUP = re.compile(r"^## (.+)$", re.MULTILINE)
_PAGE = re.compile(r"^\| \[[^\]]*\]\((\S+)\.md\)", re.MULTILINE)


def add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Make the tables of the index the navigation of the site."""
    if page != root_doc:
        return
    _, *groups = _GROUP.split(source[0])
    for caption, body in zip(groups[0::2], groups[1::2], strict=True):
        pages = "\n".join(_PAGE.findall(body))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def document_sweep(_app: Sphinx, _kind: str, name: str, _found: object, _options: object, lines: list[str]) -> None:
    """Give `kernbench.sweep`, a package that is called as a function, the docstring of the function."""
    from kernbench.api.sweep import sweep

    if name == "kernbench.sweep":
        lines[:] = [*(inspect.getdoc(sweep) or "").splitlines(), ""]


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", document_sweep)
