"""The examples in the README and in docs/ run and print the shown output."""

import doctest
from pathlib import Path

import matplotlib as mpl
import pytest

import mdt_fast as mdt

ROOT = Path(__file__).parents[2]
README, GUIDE, MISSING = ROOT / "README.md", ROOT / "docs" / "guide.md", ROOT / "docs" / "missing.md"
BATCHES = ROOT / "docs" / "batches.md"


@pytest.mark.parametrize("path", [README, GUIDE, MISSING, BATCHES], ids=lambda path: path.name)
def test_session(path):
    mpl.use("Agg")
    registered = mdt.baselines._registry._MAKERS.copy()
    # doctest would read the closing fence of a block as output.
    text = path.read_text(encoding="utf-8").replace("```", "")
    session = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert len(session.examples) >= 10
    report = doctest.DocTestRunner(verbose=False).run(session)
    mdt.baselines._registry._MAKERS.clear()
    mdt.baselines._registry._MAKERS.update(registered)
    assert report.failed == 0


@pytest.mark.parametrize("path", [README, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name)
def test_links_exist(path):
    text = path.read_text(encoding="utf-8")
    targets = [part.split(")")[0].split("#")[0] for part in text.split("](")[1:]]
    for target in targets:
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
