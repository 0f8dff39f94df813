"""Debian packages: the reader of package lists on a short one, and the file where it is there."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse

from mdt_fast import datasets
from mdt_fast.datasets import _debian
from mdt_fast.datasets._debian_control import read_packages
from mdt_fast.datasets._registry import REGISTRY

EXCERPT = """\
Package: 0ad
Version: 0.0.26-3
Pre-Depends: dpkg (>= 1.15.6~)
Depends: 0ad-data (>= 0.0.26), 0ad-data (<= 0.0.26-3), libstdc++6 (>= 12), zlib1g:any (>= 1:1.2.0) [amd64] <!nocheck>
Recommends: fonts-dejavu-core | ttf-dejavu-core
Suggests: ignored
Description: Real-time strategy game, a C++ and C# game
 The long description: ignored.
 .
 Its last line.
Description-md5: d943033bedada21853d2ae54a2578a7b
Tag: game::strategy, interface::x11,
 role::program
Section: games

package: libfoo-contrib
section: contrib/libs
description: foo
depends:

Package: 0ad
Section: other
Description: an older version

Package: bare
"""


def lines(text=EXCERPT):
    return text.split("\n")


def test_fields_of_a_package_become_terms():
    game, library, bare = read_packages(lines())
    assert (game.name, game.section) == ("0ad", "games")
    words = ["ad", "real", "time", "strategy", "game", "c++", "and", "c#", "game"]
    assert game.terms["text"] == words
    assert game.terms["depends"] == [
        "0ad-data", "dpkg", "fonts-dejavu-core", "libstdc++6", "ttf-dejavu-core", "zlib1g",
    ]  # fmt: skip
    assert game.terms["tags"] == ["game::strategy", "interface::x11", "role::program"]
    assert (library.name, library.section) == ("libfoo-contrib", "libs")
    assert library.terms == {"text": ["libfoo", "contrib", "foo"], "depends": [], "tags": []}
    assert (bare.name, bare.section, bare.terms["text"]) == ("bare", "unknown", ["bare"])


@pytest.mark.parametrize("ending", ["\n\n\n", "", "\n   \n"])
def test_blank_lines_between_and_after_records_are_of_no_account(ending):
    text = "\n\n" + EXCERPT.replace("\n\n", "\n\n\n").rstrip() + ending
    assert list(read_packages(lines(text))) == list(read_packages(lines()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Package: a\nno field\n", "available: expected lines 'Field: value', got 'no field' in line 2"),
        ("Package: a\n\nSection: b\n\n", "available: expected a field Package in each record, got none .* line 4"),
    ],
)
def test_lists_of_another_form_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        list(read_packages(lines(text)))


def small_list(n=6, *, tags=True):
    """Return a list of packages, of which the first has rare terms only and the others share words."""
    records = ["Package: zq\nDescription: xy\nSection: rare"]
    for i in range(n):
        record = f"Package: lib{i}\nDescription: shared shared words\nSection: {'libs' if i % 2 else 'net'}"
        record += f"\nDepends: libc6 (>= {i}), only{i}" if i < 3 else ""
        record += "\nTag: role::shared-lib" if tags and i >= 3 else ""
        records.append(record)
    return "\n\n".join(records) + "\n"


def test_list_becomes_counts_of_frequent_terms(tmp_path):
    path = tmp_path / "available"
    path.write_text(small_list(), encoding="utf-8")
    bunch = datasets.fetch_debian_packages(available=path)
    assert bunch.view_names == ["text", "depends", "tags"]
    assert [terms.tolist() for terms in bunch.feature_names] == [["shared", "words"], ["libc6"], ["role::shared-lib"]]
    text, depends, tags = bunch.views
    assert all(view.format == "csr" and view.dtype == np.float64 for view in bunch.views)
    assert_array_equal(text.toarray(), [[2, 1]] * 6)
    assert_array_equal(depends.toarray().ravel(), [1, 1, 1, 0, 0, 0])
    assert_array_equal(tags.toarray().ravel(), [0, 0, 0, 1, 1, 1])
    # The package without frequent terms is left out, and its section with it.
    assert bunch.packages.tolist() == [f"lib{i}" for i in range(6)]
    assert bunch.target_names == ["libs", "net"]
    assert bunch.target.tolist() == [1, 0, 1, 0, 1, 0]
    assert bunch.target.dtype == np.intp
    assert "6 packages of 2 sections" in bunch.DESCR
    assert "depends, 1 terms, lacks 3" in bunch.DESCR


def test_view_without_terms_is_left_out(tmp_path):
    path = tmp_path / "available"
    path.write_text(small_list(tags=False), encoding="utf-8")
    assert datasets.fetch_debian_packages(available=path).view_names == ["text", "depends"]


@pytest.mark.parametrize("text", ["", "Package: a\n\nPackage: b\n"])
def test_list_without_common_terms_is_refused(tmp_path, text):
    (tmp_path / "available").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"available: expected packages that share terms, got \d that share none"):
        datasets.fetch_debian_packages(available=tmp_path / "available")


class Apt:
    """In place of apt-cache: prints a list, and counts its calls."""

    def __init__(self, monkeypatch, output, program="/usr/bin/apt-cache"):
        self.output, self.calls = output, []
        monkeypatch.setattr(_debian.shutil, "which", lambda name: program)
        monkeypatch.setattr(_debian.subprocess, "run", self.run)

    def run(self, command, **options):
        self.calls.append(command)
        return subprocess.CompletedProcess(command, 0, self.output.encode(), b"")


def test_missing_file_is_replaced_by_the_list_of_the_machine(monkeypatch, tmp_path):
    apt = Apt(monkeypatch, small_list(2500))
    bunch = datasets.fetch_debian_packages(data_home=tmp_path)
    assert apt.calls == [["/usr/bin/apt-cache", "dumpavail"]]
    assert len(bunch.packages) == 2500
    assert "apt-cache dumpavail" in bunch.DESCR
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("program", "output", "remedy"),
    [
        (None, "", "no apt-cache"),
        ("/usr/bin/apt-cache", "", "lists no packages"),
        ("/usr/bin/apt-cache", small_list(100), "only 101 packages; `apt-get update`"),
    ],
    ids=["no apt", "empty list", "installed packages only"],
)
def test_neither_file_nor_list_is_an_error_with_remedies(monkeypatch, tmp_path, program, output, remedy):
    Apt(monkeypatch, output, program)
    with pytest.raises(FileNotFoundError) as caught:
        datasets.fetch_debian_packages(data_home=tmp_path)
    files = REGISTRY["debian_packages"]
    for part in (files.paths[0], str(tmp_path), files.origin, "data_home=", "MDT_FAST_DATA", "available=", remedy):
        assert part in str(caught.value)


def test_program_is_not_called_if_that_is_refused(monkeypatch, tmp_path):
    apt = Apt(monkeypatch, small_list(2500))
    with pytest.raises(FileNotFoundError, match=r"available=.* download_if_missing=True"):
        datasets.fetch_debian_packages(data_home=tmp_path, download_if_missing=False)
    assert not apt.calls


def test_arguments_of_a_wrong_type_are_named():
    with pytest.raises(TypeError, match="data_home: expected a path or None, got 3 of type int"):
        datasets.fetch_debian_packages(data_home=3)
    with pytest.raises(TypeError, match="available: expected a path or None, got 3 of type int"):
        datasets.fetch_debian_packages(available=3)
    with pytest.raises(TypeError, match="download_if_missing: expected True or False"):
        datasets.fetch_debian_packages(download_if_missing="no")


@pytest.mark.real_data
def test_file(real_folder):
    bunch = datasets.fetch_debian_packages(data_home=real_folder("debian_packages"), download_if_missing=False)
    assert bunch.view_names == ["text", "depends", "tags"]
    assert [view.shape for view in bunch.views] == [(63651, 7999), (63651, 14217), (63651, 565)]
    lacks = np.array([np.diff(view.indptr) == 0 for view in bunch.views])
    assert lacks.sum(axis=1).tolist() == [4, 9018, 33828]
    assert not lacks.all(axis=0).any()
    for view, terms in zip(bunch.views, bunch.feature_names, strict=True):
        assert issparse(view)
        assert view.dtype == np.float64
        assert view.data.min() == 1.0
        assert len(terms) == view.shape[1]
    assert len(bunch.target_names) == 58
    assert np.bincount(bunch.target).min() == 15
    assert "63651" in bunch.DESCR
    # Terms, names and sections belong to the same packages.
    row = bunch.packages.tolist().index("libavcodec-dev")
    text, depends, tags = (
        set(terms[view.indices[view.indptr[row] : view.indptr[row + 1]]])
        for view, terms in zip(bunch.views, bunch.feature_names, strict=True)
    )
    assert bunch.target_names[bunch.target[row]] == "libdevel"
    assert {"dev", "ffmpeg", "library"} <= text
    assert {"libavutil-dev", "libswresample-dev"} <= depends
    assert "role::devel-lib" in tags
