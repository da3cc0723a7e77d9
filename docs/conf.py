"""How Sphinx makes the site; ``make docs`` gathers the pages and calls it."""

from stream_llsvm.version import __version__

project = "stream_llsvm"
author = "The stream_llsvm authors"
copyright = author
version = release = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
# A console session's prompt, and file formats that no highlighter knows, are shown as they are.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"stream_llsvm {release}"
html_copy_source = False
html_show_sphinx = False
