"""The command that makes a release, and the files that repeat facts of others."""

from __future__ import annotations

import datetime
import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import mdt_fast as mdt

ROOT = Path(__file__).parents[2]
TODAY = datetime.date(2030, 1, 2)
MANIFEST = '[workspace]\nmembers = ["a"]\nresolver = "3"\n[workspace.package]\nversion = "0.1.0"\n'
MEMBER = '[package]\nname = "a"\nversion.workspace = true\n[lib]\npath = "lib.rs"\n'
FILES = {
    "Cargo.toml": MANIFEST,
    "a/Cargo.toml": MEMBER,
    "a/lib.rs": "",
    "CITATION.cff": "title: a\nversion: 0.1.0\nlicense: MIT\n",
    "conda.recipe/recipe.yaml": 'context:\n  version: "0.1.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A.\n",
}

needs_tools = pytest.mark.skipif(not (shutil.which("cargo") and shutil.which("git")), reason="needs cargo and git")


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tag = load("tag")


def run(folder, *words):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    run(tmp_path, "git", "init", "--quiet", "--initial-branch", "main")
    for key, value in {"user.name": "A", "user.email": "a@example.org", "commit.gpgsign": "false"}.items():
        run(tmp_path, "git", "config", key, value)
    run(tmp_path, "cargo", "generate-lockfile", "--offline", "--quiet")
    run(tmp_path, "git", "add", ".")
    run(tmp_path, "git", "commit", "--quiet", "--message", "a")
    return tmp_path


@needs_tools
class TestRelease:
    def test_sets_the_version_everywhere_and_tags(self, repository):
        tag.main(repository, "0.2.0", TODAY)
        for name in FILES:
            assert "0.1.0" not in (repository / name).read_text(encoding="utf-8")
        lock = tomllib.loads((repository / "Cargo.lock").read_text(encoding="utf-8"))
        assert [package["version"] for package in lock["package"]] == ["0.2.0"]
        assert "version: 0.2.0\ndate-released: 2030-01-02\n" in (repository / "CITATION.cff").read_text()
        changelog = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
        assert changelog == "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2030-01-02\n\n### Added\n\n- A.\n"
        assert run(repository, "git", "status", "--porcelain") == ""
        assert run(repository, "git", "log", "-1", "--format=%s %(describe)") == "release: version 0.2.0 v0.2.0\n"

    def test_the_first_release_keeps_the_version(self, repository):
        tag.main(repository, "0.1.0", TODAY)
        assert run(repository, "git", "tag") == "v0.1.0\n"

    @pytest.mark.parametrize("version", ["0.0.9", "1.0", "v1.0.0", "1.0.0rc1", "01.0.0"])
    def test_other_versions(self, repository, version):
        with pytest.raises(SystemExit, match="VERSION: expected"):
            tag.main(repository, version, TODAY)
        assert run(repository, "git", "tag") == ""

    def test_a_version_that_has_a_tag(self, repository):
        run(repository, "git", "tag", "v0.2.0")
        with pytest.raises(SystemExit, match=r"VERSION: expected a new version, got 0\.2\.0"):
            tag.main(repository, "0.2.0", TODAY)

    def test_nothing_new(self, repository):
        tag.main(repository, "0.2.0", TODAY)
        with pytest.raises(SystemExit, match=r"expected changes under \[Unreleased\], got none"):
            tag.main(repository, "0.3.0", TODAY)
        assert run(repository, "git", "status", "--porcelain") == ""

    def test_headings_alone_are_no_changes(self, repository):
        (repository / "CHANGELOG.md").write_text(
            "## [Unreleased]\n\n### Added\n\n## [0.1.0]\n\n- A.\n", encoding="utf-8"
        )
        run(repository, "git", "commit", "--quiet", "--all", "--message", "b")
        with pytest.raises(SystemExit, match=r"expected changes under \[Unreleased\], got none"):
            tag.main(repository, "0.2.0", TODAY)

    def test_changes_that_are_not_committed(self, repository):
        (repository / "b").touch()
        with pytest.raises(SystemExit, match=r"expected no changes that are not committed, got:\n\?\? b"):
            tag.main(repository, "0.2.0", TODAY)

    @pytest.mark.parametrize(
        ("place", "found"), [(["--create", "mainline"], "mainline"), (["--detach"], "a commit without a branch")]
    )
    def test_another_branch(self, repository, place, found):
        run(repository, "git", "switch", "--quiet", *place)
        with pytest.raises(SystemExit, match=f"expected the branch main, got {found}"):
            tag.main(repository, "0.2.0", TODAY)
        assert run(repository, "git", "tag") == ""

    @pytest.mark.parametrize("step", ["commit", "tag"])
    def test_a_step_that_fails_leaves_everything_as_it_was(self, repository, step):
        run(repository, "git", "config", f"{step}.gpgsign", "true")
        run(repository, "git", "config", "gpg.program", "/nowhere/gpg")
        before = run(repository, "git", "log", "--format=%H")
        with pytest.raises(SystemExit, match=f"git {step} .* ended with"):
            tag.main(repository, "0.2.0", TODAY)
        assert run(repository, "git", "status", "--porcelain") == run(repository, "git", "tag") == ""
        assert run(repository, "git", "log", "--format=%H") == before


@pytest.mark.parametrize("name", tag._PLACES)
def test_all_files_have_the_version_of_the_package(name):
    assert tag.find_version(name, (ROOT / name).read_text(encoding="utf-8")).group(1) == mdt.__version__


def test_the_changelog_can_be_released():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [99.0.0] - {TODAY}\n" in tag.dated_changelog(text, "99.0.0", TODAY)


def test_the_recipe_requires_what_the_package_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = (ROOT / "conda.recipe" / "recipe.yaml").read_text(encoding="utf-8")
    run_time = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.MULTILINE).group(1)
    listed = {line.removeprefix("    - ").replace(" ", "") for line in run_time.splitlines()}
    required = project["project"]["requires-python"]
    assert listed == {f"python{required}", *project["project"]["dependencies"]}
    assert f"- {project['build-system']['requires'][0].replace('>=', ' >=')}\n" in recipe


@pytest.mark.skipif(not shutil.which("cargo"), reason="needs cargo")
def test_the_licences_are_those_of_the_crates():
    """THIRD-PARTY-LICENSES.txt names the crates of Cargo.lock that are compiled into the module."""
    command = ["cargo", "tree", "--package=mdt-bindings", "--edges=normal", "--prefix=none", "--locked", "--offline"]
    # Crates of this project have a path.
    here = set(re.findall(r"^(\S+) v(\S+)(?: \((?:\*|proc-macro)\))*$", run(ROOT, *command), re.MULTILINE))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    locked = {(package["name"], package["version"]) for package in lock["package"]}
    text = (ROOT / "THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\* (\S+) (\S+)$", text, re.MULTILINE))
    # Other platforms need crates that this one does not.
    assert len(here) > 10
    assert here <= listed <= locked, "run `make licences`"
