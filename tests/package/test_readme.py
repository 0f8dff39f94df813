"""The examples in the README and in docs/ run and print the shown output."""

import doctest
from pathlib import Path

import matplotlib as mpl
import pytest

import mdt_fast as mdt

ROOT = Path(__file__).parents[2]
README, DOCS = ROOT / "README.md", ROOT / "docs"
SESSIONS = [
    README,
    *(DOCS / f"{name}.md" for name in ("get_started", "guide", "missing", "graphs", "batches", "scverse")),
]


# umap-learn warns of a package and of a search index that it does not need here.
@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning", "ignore:precomputed_knn:UserWarning")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
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
