"""Public names have examples, and every example in a docstring prints the shown output."""

import doctest
import importlib
import inspect
import pkgutil

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import mdt_fast
from helpers.public import own_methods, public_objects

MODULES = ["mdt_fast", *sorted(module.name for module in pkgutil.walk_packages(mdt_fast.__path__, "mdt_fast."))]
# A run takes at least ten minutes and needs all files of the published study.
LONG = {"mdt_fast.study.paper.run_paper", "mdt_fast.study.paper.write_results"}
# Methods that estimators have in scikit-learn, and linear operators in SciPy.
CONVENTIONAL = {
    "fit", "fit_predict", "fit_transform", "get_params", "matmat", "matvec", "predict", "rmatmat", "rmatvec",
    "set_fit_request", "set_params", "set_predict_request", "set_transform_request", "transform",
}  # fmt: skip


def reads_files(name):
    return name.rpartition(".")[2].startswith("fetch_") or name == "mdt_fast.study.paper._comparison.compare"


def examples_of(module):
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module), module)
    return [test for test in found if test.examples]


@pytest.fixture
def surroundings(monkeypatch):
    """No display, and the baselines that examples register are removed at the end."""
    mpl.use("Agg")
    makers = mdt_fast.baselines._registry._MAKERS
    monkeypatch.setattr(mdt_fast.baselines._registry, "_MAKERS", makers.copy())
    yield
    plt.close("all")


# Examples do not show how to silence warnings.
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning", "ignore::mdt_fast.TimeSelectionWarning")
@pytest.mark.usefixtures("surroundings")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    for test in examples_of(name):
        if not reads_files(test.name):
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0, test.name


@pytest.mark.real_data
@pytest.mark.parametrize(
    "test",
    [test for name in MODULES for test in examples_of(name) if reads_files(test.name)],
    ids=lambda test: test.name.rpartition(".")[2],
)
def test_examples_of_files(test):
    try:
        doctest.DebugRunner(verbose=False).run(test)
    except doctest.UnexpectedException as failure:
        if isinstance(failure.exc_info[1], FileNotFoundError):
            pytest.skip(str(failure.exc_info[1]))
        raise


@pytest.mark.parametrize(("name", "value"), public_objects().items(), ids=public_objects())
def test_public_names_have_examples(name, value):
    """The examples of the long functions are shown but not run."""
    assert runs(value) or name in LONG
    methods = own_methods(value) if inspect.isclass(value) else {}
    # The methods of a strategy are called by the search alone.
    if name.startswith("mdt_fast.strategies."):
        return
    assert [each for each, method in methods.items() if each not in CONVENTIONAL and not runs(method)] == []


def runs(value):
    """Return whether the docstring has examples of which more is run than imports."""
    text = inspect.getdoc(value) or ""
    return "Examples\n--------\n" in text and any(
        not example.options.get(doctest.SKIP) and not example.source.startswith(("import ", "from "))
        for example in doctest.DocTestParser().get_examples(text)
    )
