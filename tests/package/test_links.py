"""Links between the documents of the repository lead to files and headings that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/project/*.md", "docs/tutorials/*.*", "benches/*.md")
    for path in ROOT.glob(pattern)
    if path.suffix in (".md", ".ipynb")
)


def markdown_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    # Links and headings in blocks of code are neither.
    return re.sub(r"^(```+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors_of(path):
    """Return the anchors that forges and the site give to the headings of a document."""
    counts, anchors = {}, set()
    for heading in re.findall(r"^#+ +(.+?) *$", markdown_of(path), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        counts[anchor] = counts.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{counts[anchor]}" if counts[anchor] else anchor)
    return anchors


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_targets_exist(path):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", markdown_of(path)):
        file, _, anchor = target.partition("#")
        if "://" in target:
            continue
        place = path.parent / file if file else path
        if not place.exists() or (anchor and anchor not in anchors_of(place)):
            broken.append(target)
    assert broken == []


def test_a_wrong_anchor_is_found(tmp_path):
    document = tmp_path / "page.md"
    document.write_text("# One idea\n\n## `code` and [link](other.md)\n\n```\n# no heading\n```\n\n## One idea\n")
    assert anchors_of(document) == {"one-idea", "code-and-link", "one-idea-1"}
    document.write_text("[here](#one-idea), [there](other.md)\n")
    with pytest.raises(AssertionError, match=r"#one-idea.*other\.md"):
        test_targets_exist(document)
