"""The scripts that draw the pictures of the documentation run and draw what is committed."""

import importlib.util
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
CONCEPTS = ROOT / "docs" / "images" / "concepts"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
def test_pictures_of_the_concepts(tmp_path):
    load("concepts").main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in CONCEPTS.iterdir())
    for path in tmp_path.iterdir():
        drawn, committed = (matplotlib.image.imread(folder / path.name) for folder in (tmp_path, CONCEPTS))
        # Fonts and versions of matplotlib move edges by some pixels.
        assert np.allclose(drawn.shape, committed.shape, atol=12), path.name
        assert drawn.std() == pytest.approx(committed.std(), rel=0.2), path.name
