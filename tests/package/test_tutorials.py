"""The notebooks of docs/tutorials show what they computed, and their code runs from the first to the last cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.ipynb"))
# Notebooks that need files of MDT_FAST_DATA, and others that take more than 20 seconds on two cores.
WITH_DATA = {"3_citeseq.ipynb"}
SLOW = {"2_text_and_links.ipynb", "4_million.ipynb", "5_your_own.ipynb", *WITH_DATA}
# Bytes of a picture, so that pages load fast.
LARGEST = 300_000


def code_of(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def marked(path):
    marks = [pytest.mark.slow] if path.name in SLOW else []
    marks += [pytest.mark.real_data] if path.name in WITH_DATA else []
    return pytest.param(path, marks=marks, id=path.name)


def test_all_tutorials_are_known():
    assert {path.name for path in TUTORIALS} >= SLOW


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_shows_what_it_computed(path):
    cells = code_of(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert pictures
    # Three bytes are four characters.
    assert max(map(len, pictures)) * 3 / 4 < LARGEST


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_begins_with_one_title(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "markdown" for line in "".join(cell["source"]).split("\n")]
    assert lines[0].startswith("# ")
    assert sum(line.startswith("# ") for line in lines) == 1


@pytest.mark.parametrize("path", [marked(path) for path in TUTORIALS])
def test_runs(path, tmp_path):
    """Run the code as a script: the notebooks use no commands of IPython, so Jupyter is not needed."""
    script = tmp_path / "tutorial.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in code_of(path)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
