"""How Sphinx builds our pages as a site: `make docs`. They are plain Markdown and read as well without it.

The project's own folder is the source, so that pages link to each other the same way here as on a code host. The index,
`docs/README.md`, has a table of pages under each heading; these tables are the navigation of the site. Its last table has the
words that readers look for, which become entries of the index of the site: its search finds them.
"""

from __future__ import annotations

import inspect
import os
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
_WORDS = re.compile(r"^\| ([^\[|]+) \| \[[^\]]*\]\(([^)#]+)\.md#?([^)]*)\) \|$", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)\n", re.MULTILINE)
_PAGE = re.compile(r"^\| \[[^\]]*\]\((\S+)\.md\)", re.MULTILINE)


def add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Make the tables of the index the navigation of the site."""
    if page != root_doc:
        return
    _, *groups = _GROUP.split(source[0])
    for caption, body in zip(groups[0::2], groups[1::2], strict=True):
        if not (pages := "\n".join(_PAGE.findall(body))):
            continue
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def add_words(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the words of the index that lead to a page, or to a heading of it, entries of the site's index there."""
    home = Path(root_doc).parent
    index = (Path(app.srcdir) / f"{root_doc}.md").read_text(encoding="utf-8")
    for words, name, anchor in _WORDS.findall(index):
        if os.path.normpath(home / name) == page:
            entries = ", ".join(f"! {word.strip()}" for word in words.split(","))  # the mark is that of the main place
            source[0] = _after_heading(source[0], anchor, f"\n```{{index}} {entries}\n```\n")


def _after_heading(text: str, anchor: str, block: str) -> str:
    """A page with a block below the heading of an anchor, or below its first. Errors: ValueError if there is none."""
    for heading in _HEADING.finditer(text):
        if not anchor or anchor == re.sub(r"[^\w\- ]", "", heading[1].lower()).strip().replace(" ", "-"):
            return f"{text[: heading.end()]}{block}{text[heading.end() :]}"
    raise ValueError(f"no heading has the anchor {anchor!r}, to which docs/README.md leads")


def document_sweep(_app: Sphinx, _kind: str, name: str, _found: object, _options: object, lines: list[str]) -> None:
    """Give `kernbench.sweep`, a package that is called as a function, the docstring of the function."""
    from kernbench.api.sweep import sweep

    if name == "kernbench.sweep":
        lines[:] = [*(inspect.getdoc(sweep) or "").splitlines(), ""]


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_words)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", document_sweep)
