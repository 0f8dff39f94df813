"""Packages of Debian in three views: words, dependencies and tags. Most packages lack some of them."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .._support.arguments import check_flag, check_path
from ._bunch import encode_labels, make_bunch
from ._debian_control import CountedView, Package, count_views, read_packages
from ._files import locate
from ._types import DataHome

VIEW_NAMES = ("text", "depends", "tags")
# Fewer packages than this are the installed ones of a machine that has no package lists.
_LEAST_PACKAGES = 2000


def fetch_debian_packages(
    *, data_home: DataHome = None, available: DataHome = None, download_if_missing: bool = True
) -> Any:
    """Read the packages of Debian 12: 63651 packages, words, dependencies and tags, 58 sections.

    The views are sparse counts. A row of zeros is a package that the view lacks: 4 packages have no
    words of the list, 9018 no dependencies and 33828 no tags. Each package is in some view.

    Without the file, the data are made from the output of ``apt-cache dumpavail``, which lists the
    packages that the machine can install, in their present versions. Such data differ from the file
    in the packages, and so in the terms and sections. From the list from which the file was made they
    differ in the words of 3 packages, because only the first line of a description is used here.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    available : str, os.PathLike or None, default=None
        A file with the output of ``apt-cache dumpavail``, or an uncompressed index ``Packages`` of an
        archive. The data are made from it, and no file of the data folder is read.
    download_if_missing : bool, default=True
        Whether to call ``apt-cache dumpavail`` if the data file is missing. It needs no network, and
        nothing is stored. No public address of the file is known.

    Returns
    -------
    sklearn.utils.Bunch
        views (CSR arrays), target (integers from 0), target_names (the sections), view_names, DESCR,
        packages (the names), feature_names (an array of terms for each view).

    Raises
    ------
    FileNotFoundError
        If neither the file nor a list of packages is there.
    ValueError
        If `available` is not such a list, or its packages share no terms.

    Notes
    -----
    The views are made of these fields of a package:

    text
        `Package` and the first line of `Description`: how often each word occurs. A word is a
        lower-case letter and at least one more letter, digit, ``+`` or ``#``. Words of fewer than 5
        packages are left out.
    depends
        `Pre-Depends`, `Depends` and `Recommends`: 1 for each package that is named, also as an
        alternative, without versions and architectures. Those that fewer than 3 packages name are
        left out.
    tags
        `Tag`: 1 for each tag. Those of fewer than 3 packages are left out.

    The class is the last part of `Section` ("net" for "contrib/net"). Data made from a list have no
    view without terms (Ubuntu has no tags) and no package without terms, and of several packages with
    the same name only the first.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_debian_packages()
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['text', 'depends', 'tags'], [(63651, 7999), (63651, 14217), (63651, 565)])
    """
    check_flag("download_if_missing", download_if_missing)
    if available is not None:
        path = check_path("available", available, "a path or None").expanduser()
        with path.open(encoding="utf-8", errors="replace") as lines:
            return _made(read_packages(lines), f"{path.name}, as apt-cache dumpavail prints it")
    try:
        (path,) = locate("debian_packages", data_home, download_if_missing)
    except FileNotFoundError as error:
        packages = _installable() if download_if_missing else []
        if len(packages) < _LEAST_PACKAGES:
            raise FileNotFoundError(f"{error} {_remedy(len(packages), download_if_missing)}") from error
        return _made(packages, "apt-cache dumpavail")
    return _read(path)


def _read(path: Path) -> Any:
    """Return the data of the file."""
    from scipy.sparse import csr_array

    with np.load(path, allow_pickle=False) as contents:
        views = []
        for name in VIEW_NAMES:
            parts = tuple(contents[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            shape = tuple(int(size) for size in contents[f"{name}_shape"])
            matrix = csr_array((parts[0].astype(np.float64), *parts[1:]), shape=shape)
            views.append(CountedView(name, matrix, contents[f"{name}_terms"]))
        sections = contents["section_names"][contents["section"]]
        return _bunch(views, sections, contents["package"], "Debian 12")


def _made(packages: Iterable[Package], source: str) -> Any:
    """Return the data of a list of packages."""
    kept, views = count_views(list(packages))
    return _bunch(views, [each.section for each in kept], [each.name for each in kept], source)


def _bunch(views: list[CountedView], sections: Any, packages: Any, source: str) -> Any:
    counts = "; ".join(f"{view.name}, {view.matrix.shape[1]} terms, lacks {view.n_lacking()}" for view in views)
    names = np.unique(sections).tolist()
    return make_bunch(
        [view.matrix for view in views],
        encode_labels(sections),
        [view.name for view in views],
        f"Debian packages ({source}): {len(packages)} packages of {len(names)} sections, sparse counts. "
        f"Views and the packages that they lack: {counts}. Target: section.",
        target_names=names,
        packages=np.asarray(packages),
        feature_names=[view.terms for view in views],
    )


def _installable() -> list[Package]:
    """Return the packages that apt knows; none if this machine has no apt."""
    program = shutil.which("apt-cache")
    if program is None:
        return []
    output = subprocess.run([program, "dumpavail"], capture_output=True, check=False).stdout
    # Not splitlines, which also splits at other separators than the end of a line.
    return list(read_packages(output.decode("utf-8", errors="replace").split("\n")))


def _remedy(n_packages: int, may_call: bool) -> str:
    given = "Or give a file with the output of `apt-cache dumpavail` of a Debian machine as available="
    if not may_call:
        return f"{given}, or call it on such a machine with download_if_missing=True."
    if n_packages == 0:
        return f"{given}: this machine has no apt-cache, or it lists no packages."
    return f"{given}: apt-cache of this machine lists only {n_packages} packages; `apt-get update` gets the lists."
