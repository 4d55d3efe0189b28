"""How `make docs` makes a site of the project's pages, and of the docstrings of the library.

Owns the settings of Sphinx, whose sources are the whole project, so that links between pages hold
wherever these are. What the pages say is checked elsewhere: `tools/guide.py`, `tools/links.py`.
"""

from __future__ import annotations

from typing import Any

from acp import __version__

project = "acp"
author = "the authors of acp-native"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md", "benches/results/*.md", "reliability/results/*.md"]
# Only so that nothing is looked for there.
exclude_patterns = [".*", "site", "target", "tests", "rust", "dist", "**/node_modules"]
# Links to headings go by the names that other readers of these pages give them.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
# In docstrings, one pair of backticks is code, as in the pages.
default_role = "code"
# A member may be called what a type is called.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"acp {version}"
html_show_sourcelink = False
html_copy_source = False


def _skipped(app: Any, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leaves out the objects of messages, of which the table of methods tells."""
    del app, kind, name, skip, options
    home = str(getattr(member, "__module__", ""))
    return True if home.startswith("acp._schema.") else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", _skipped)
