"""Find the files of the real data sets in the data folder, and download missing ones."""

import os
from pathlib import Path

from .._support.arguments import check_flag, check_path
from ._registry import REGISTRY
from ._types import DataHome

DATA_VARIABLE = "MDT_FAST_DATA"
OFFLINE_VARIABLE = "MDT_FAST_OFFLINE"


def get_data_home(data_home: DataHome = None) -> Path:
    """Return the folder of the real data sets.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        The folder. None means the folder of the environment variable MDT_FAST_DATA, or, if that is
        not set, ``mdt_fast`` in the user's cache folder (``$XDG_CACHE_HOME`` or ``~/.cache``).

    Returns
    -------
    pathlib.Path
        The folder, with ``~`` expanded. It need not exist.

    Raises
    ------
    TypeError
        If `data_home` is not a path.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.datasets.get_data_home("/data").as_posix()
    '/data'
    """
    if data_home is None:
        data_home = os.environ.get(DATA_VARIABLE) or None
    if data_home is None:
        return _cache_folder()
    return check_path("data_home", data_home, "a path or None").expanduser()


def download_folder(data_home: DataHome = None) -> Path:
    """Return the folder of downloads: `data_home` if given, else the cache folder.

    The folder of MDT_FAST_DATA is not used, because several users may share it read-only.
    """
    return _cache_folder() if data_home is None else get_data_home(data_home)


def may_download(download_if_missing: bool) -> bool:
    """Return whether both the argument and the variable MDT_FAST_OFFLINE permit downloads."""
    return check_flag("download_if_missing", download_if_missing) and os.environ.get(OFFLINE_VARIABLE, "0") in ("", "0")


def locate(name: str, data_home: DataHome, download_if_missing: bool) -> list[Path]:
    """Return the paths of the files of a data set in the order of the registry; all of them exist.

    A file that is neither in the data folder nor in the folder of downloads is downloaded.
    """
    allowed = may_download(download_if_missing)
    home, target = get_data_home(data_home), download_folder(data_home)
    files = REGISTRY[name]
    paths = {file: home / file.path if (home / file.path).is_file() else target / file.path for file in files.files}
    absent = [file for file, path in paths.items() if not path.is_file()]
    if absent:
        # Imported here, because importing urllib takes time that only downloads need.
        from ._download import DownloadError, download

        try:
            if not allowed:
                reason = f"downloads are switched off by download_if_missing=False or {OFFLINE_VARIABLE}"
                raise DownloadError(absent[0].path, reason)
            download(absent, target)
        except DownloadError as error:
            (addresses,) = (file.addresses for file in absent if file.path == error.path)
            raise FileNotFoundError(
                f"{error.path} is not in the data folder {home}, and was not downloaded: {error}. Its public origin: "
                f"{', '.join((files.origin, *addresses))}. Put the file there, or name another folder with "
                f"data_home= or the variable {DATA_VARIABLE}."
            ) from error
    return list(paths.values())


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mdt_fast"
