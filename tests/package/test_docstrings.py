"""Every example in a docstring prints the shown output."""

import doctest
import importlib
import pkgutil

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import mdt_fast

MODULES = ["mdt_fast", *sorted(module.name for module in pkgutil.walk_packages(mdt_fast.__path__, "mdt_fast."))]


# Examples do not show how to silence warnings.
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning", "ignore::mdt_fast.TimeSelectionWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    mpl.use("Agg")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
    plt.close("all")
