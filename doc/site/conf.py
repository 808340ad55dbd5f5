# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's settings for the site (build.py). The sources are Markdown that also reads well on a forge, so the
settings do what directives would do elsewhere."""
import os
import re

from sphinx.application import Sphinx

project = "Sluice"
copyright = "the Sluice authors"  # Sphinx wants this name
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
include_patterns = ["index.rst", "*.md", "doc/*.md", "doc/tutorials/*.md", "man/*.rst"]

# Headings get the anchors that forges give them, so links such as lab.md#live resolve.
myst_heading_anchors = 4
# Markdown that Pygments cannot read, as a shell session with two prompts, is shown without colours.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "Sluice"
html_static_path = ["static"]
html_css_files = ["man.css"]
html_show_sphinx = False
html_copy_source = False
html_use_index = False
# The same sources give the same site.
html_last_updated_fmt = None


def _without_folders(app: Sphinx, name: str, source: list[str]) -> None:
    """A link to a folder leads nowhere in a site; its text stays."""
    here = os.path.dirname(os.path.join(app.srcdir, name))

    def text(link: re.Match[str]) -> str:
        return link[1] if os.path.isdir(os.path.join(here, link[2])) else link[0]

    source[0] = re.sub(r"(?<!!)\[([^\]\n]*)\]\(([^)#\s]+)\)", text, source[0])


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _without_folders)
