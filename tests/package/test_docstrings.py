"""Every example in a docstring gives what it says."""

import doctest
import importlib
import pkgutil

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import mdt_fast

MODULES = ["mdt_fast", *sorted(module.name for module in pkgutil.walk_packages(mdt_fast.__path__, "mdt_fast."))]


# Examples show what a reader types, not how warnings are kept away.
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning", "ignore::mdt_fast.TimeSelectionWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    mpl.use("Agg")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
    plt.close("all")
