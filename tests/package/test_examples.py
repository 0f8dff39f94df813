"""The scripts of examples/ draw their pictures."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "images" / "gallery"
# Bytes of a picture, so that pages load fast.
LARGEST = 150_000


def test_pictures_are_small_and_used():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    pictures = sorted(GALLERY.glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < LARGEST, picture.name
        assert f"(images/gallery/{picture.name})" in page, picture.name


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning", "ignore:n_jobs value:UserWarning")
def test_gallery_draws_every_picture(plt, tmp_path):
    gallery = runpy.run_path(str(ROOT / "examples" / "gallery.py"))
    gallery["main"](folder=tmp_path, n=150)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in GALLERY.glob("*.png")}
    for path in tmp_path.iterdir():
        pixels = plt.imread(path)
        assert pixels.shape[1] > 500
        assert pixels.std() > 0.02, path.name
