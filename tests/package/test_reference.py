"""The reference of the API in docs/api lists every public name, and nothing else."""

import re
from pathlib import Path

from helpers.public import public_objects

API = Path(__file__).parents[2] / "docs" / "api"


def listed_names():
    names = []
    for page in sorted(API.glob("*.rst")):
        module, is_list = "", False
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = found[1]
            if line and not line.startswith(" "):
                is_list = line.startswith(".. autosummary::")
            elif is_list and (found := re.fullmatch(r"   ([A-Za-z]\w*)", line)):
                names.append(f"{module}.{found[1]}")
    return names


def test_every_public_name_is_listed_once():
    assert sorted(listed_names()) == sorted(public_objects())


def test_every_page_is_in_the_index():
    index = (API / "index.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^   (\w+)$", index, re.MULTILINE)) == sorted(
        page.stem for page in API.glob("*.rst") if page.stem != "index"
    )
