"""Settings of the documentation site, which `make docs` builds.

Documents outside `docs/` are pages of the site too: a short file in `docs/project/` stands for each of them, and its
text is replaced when it is read. Links between documents are written for readers of the repository and are translated
here.
"""

from __future__ import annotations

import importlib
import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

import mdt_fast

DOCS = Path(__file__).parent
ROOT = DOCS.parent
REPOSITORY_PAGES = {
    "project/contributing": "CONTRIBUTING.md",
    "project/architecture": "ARCHITECTURE.md",
    "project/changelog": "CHANGELOG.md",
    "project/security": "SECURITY.md",
    "project/benchmarks": "benches/RESULTS.md",
}

project = "mdt_fast"
author = "The mdt_fast developers"
copyright = author
version = release = mdt_fast.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
# Single backticks are names of parameters and short expressions.
default_role = "code"
# Quotes are part of values, and blocks without a language are commands and diagrams.
smartquotes = False
highlight_language = "none"
# Every reference must have a target.
nitpicky = True
# The benchmarks print headings of the third level.
suppress_warnings = ["myst.header"]

# Markdown and notebooks.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# "auto" executes the notebooks without outputs, "force" and "cache" all of them, "off" none.
nb_execution_mode = os.environ.get("MDT_FAST_NOTEBOOKS", "auto")


def keeps_outputs(path: Path) -> bool:
    """Return whether a notebook is shown with the outputs that it has.

    Without the folder of real data, notebooks that read it are not executed. In the mode "auto", myst-nb would execute
    a notebook if any of its cells has no output, as cells of imports have none.
    """
    text = path.read_text(encoding="utf-8")
    if "MDT_FAST_DATA" not in os.environ and "datasets.fetch_" in text:
        return True
    return nb_execution_mode == "auto" and any(cell.get("outputs") for cell in json.loads(text)["cells"])


nb_execution_excludepatterns = [
    path.relative_to(DOCS).as_posix() for path in DOCS.glob("tutorials/*.ipynb") if keeps_outputs(path)
]

# The reference of the API.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The first inventory that can be read is used. The second lists the names to which this project refers, for builds
# without a network.
intersphinx_timeout = 5
intersphinx_mapping = {
    name: (address, (None, f"inventories/{name}.txt"))
    for name, address in {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
        "anndata": "https://anndata.readthedocs.io/en/stable/",
    }.items()
}

html_theme = "pydata_sphinx_theme"
html_title = "mdt_fast"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"index": []}


def site_target(target: str, folder: str) -> str | None:
    """Return the path from `docs/` of a page to which a document in `folder` of the repository links, or None."""
    path = posixpath.normpath(posixpath.join(folder, target))
    for page, source in REPOSITORY_PAGES.items():
        if path == source:
            return f"{page}.md"
    return None


def translate_links(text: str, origin: str, page: str) -> str:
    """Write the links of a document of the repository as links of its page on the site.

    Parameters
    ----------
    text : str
        Markdown of the document.
    origin : str
        Path of the document from the root of the repository.
    page : str
        Path of its page from `docs/`.
    """
    folder, place = posixpath.dirname(origin), posixpath.dirname(page) or "."

    def translate(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        on_site = site_target(target, folder) or posixpath.relpath(path, "docs")
        return f"]({posixpath.relpath(on_site, place)}{anchor})"

    return re.sub(r"\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)", translate, text)


def read_document(app: Any, docname: str, source: list[str]) -> None:
    """Replace the text of a page by its document of the repository, and translate the links."""
    if docname in REPOSITORY_PAGES:
        origin = REPOSITORY_PAGES[docname]
        app.env.note_dependency(str(ROOT / origin), docname=docname)
        source[0] = translate_links((ROOT / origin).read_text(encoding="utf-8"), origin, f"{docname}.md")
    elif Path(app.env.doc2path(docname)).suffix == ".md":
        source[0] = translate_links(source[0], f"docs/{docname}.md", f"{docname}.md")


def find_public_name(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve references of docstrings to names of other public modules, such as `build_operators` in `scverse`."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    for module in ("mdt_fast", "mdt_fast.scverse", "mdt_fast.study", "mdt_fast.study.paper"):
        found = domain.resolve_xref(
            env, node["refdoc"], app.builder, node["reftype"], f"{module}.{node['reftarget']}", node, contnode
        )
        if found is not None:
            return found
    return None


def setup(app: Any) -> None:
    """Connect the functions above."""
    for module in ("scverse", "study.paper"):
        importlib.import_module(f"mdt_fast.{module}")
    app.connect("source-read", read_document)
    app.connect("missing-reference", find_public_name, priority=400)
