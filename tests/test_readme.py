"""The README's session runs and prints what it says."""

import doctest
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("path", [README], ids=lambda path: path.name)
def test_session(path):
    # Fenced blocks end a session as far as doctest is concerned only if the fence is not read as output.
    text = path.read_text(encoding="utf-8").replace("```", "")
    session = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert len(session.examples) >= 10
    report = doctest.DocTestRunner(verbose=False).run(session)
    assert report.failed == 0


def test_docstrings():
    import mdt_fast as mdt

    for function in (mdt.build_operators, mdt.OperatorSet.trajectory):
        (example,) = doctest.DocTestFinder(recurse=False).find(function, globs={})
        assert example.examples
        assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
