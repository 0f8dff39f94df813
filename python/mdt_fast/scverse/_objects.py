"""AnnData and MuData objects: what is one, its columns of `.obs`, its cells, and copies."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.modalities import is_multimodal
from .._support.arguments import check_flag, check_integer, first_true, is_integer
from .._support.extras import require

# Names that a message lists.
_MOST_NAMES = 20


def check_data(data: Any, argument: str = "data") -> None:
    """Raise TypeError for an object that is neither an AnnData nor a MuData."""
    if is_multimodal(data):
        if getattr(data, "axis", 0) != 0:
            raise ValueError(f"{argument}: expected modalities that share cells (axis 0), got axis {data.axis}")
        return
    if not isinstance(data, require("anndata", "mdt_fast.scverse").AnnData):
        hint = "; mudata.MuData({...}) joins AnnData objects by their cells" if isinstance(data, dict) else ""
        raise TypeError(f"{argument}: expected an AnnData or a MuData, got {type(data).__name__}{hint}")


def to_change(data: Any, *, copy: Any) -> Any:
    """Return the object that results are computed of and written to: `data`, or a copy of it.

    A lazy view becomes an object of its own, as in scanpy. This is done before anything is computed, because
    mudata may change the order of the cells of a view that it copies.
    """
    if check_flag("copy", copy):
        return data.to_memory() if _is_backed(data) and hasattr(data, "to_memory") else data.copy()
    if data.is_view:
        if _is_backed(data):
            raise ValueError(
                "data: expected an object that can be changed, got a view of a file; data.to_memory() reads it into "
                "memory"
            )
        own(data)
    return data


def own(data: Any) -> None:
    """Make an object of its own of a lazy view, by an assignment: the public way, without a warning."""
    if is_multimodal(data):
        # Assigning .obs would keep the order of the view, although the copied modalities may have another one.
        data.uns = deepcopy(data.uns)
    else:
        data.obs = data.obs.copy()


def _is_backed(data: Any) -> bool:
    return bool(data.isbacked)


def n_cells(data: Any) -> int:
    """Return the number of cells, of a MuData those of all modalities together."""
    return int(data.n_obs)


def column(data: Any, key: Any, argument: str) -> Any:
    """Return a column of `.obs`, a Series of pandas."""
    if not isinstance(key, str) or key not in data.obs.columns:
        hint = ""
        if is_multimodal(data):
            owners = [name for name, modality in data.mod.items() if key in modality.obs.columns]
            hint = f"; {owners[0]!r} has it: data.pull_obs() makes it {owners[0] + ':' + key!r}" if owners else ""
        raise ValueError(f"{argument}: expected a column of .obs, {listed(data.obs.columns)}, got {key!r}{hint}")
    return data.obs[key]


def complete_column(data: Any, key: Any, argument: str) -> Any:
    """Return a column of `.obs` that has a value for every cell."""
    values = column(data, key, argument)
    missing = np.asarray(values.isna())
    if missing.any():
        raise ValueError(
            f"{argument}: expected a value for every cell, got none for {int(missing.sum())} of {len(values)} in "
            f".obs[{key!r}] (the first is row {first_true(missing)})"
        )
    return values


def codes_of(values: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return the number of the level of each cell, -1 for none, and the levels that occur, as text."""
    import pandas as pd

    categories = pd.Categorical(values).remove_unused_categories()
    return np.asarray(categories.codes, dtype=np.intp), [str(level) for level in categories.categories]


def position(data: Any, cell: Any, argument: str) -> int:
    """Return the position of a cell that is given by its name or its position."""
    if is_integer(cell):
        return check_integer(argument, cell, minimum=0, maximum=n_cells(data) - 1)
    if not isinstance(cell, str):
        raise TypeError(f"{argument}: expected the name of a cell or its position, got {cell!r}")
    found = np.flatnonzero(np.asarray(data.obs_names == cell))
    if len(found) != 1:
        got = f"{cell!r}, which names {len(found)} cells; give its position" if len(found) else repr(cell)
        raise ValueError(f"{argument}: expected one of the names of the cells, got {got}")
    return int(found[0])


def check_key(argument: str, key: Any) -> str:
    """Return a key under which something can be stored, also in a file."""
    if not isinstance(key, str) or not key or "/" in key:
        raise ValueError(f"{argument}: expected a name without '/', got {key!r}")
    return key


def check_names(argument: str, names: Any) -> list[str]:
    """Return one name, or a list of names, as a list; None is none."""
    found = [] if names is None else [names] if isinstance(names, str) else names
    if not isinstance(found, (list, tuple)) and not (hasattr(found, "tolist") and getattr(found, "ndim", 0) == 1):
        raise TypeError(f"{argument}: expected a name or a list of names, got {type(names).__name__}")
    wrong = [name for name in found if not isinstance(name, str)]
    if wrong:
        raise TypeError(f"{argument}: expected a name or a list of names, got {wrong[0]!r}")
    return [str(name) for name in found]


def listed(names: Iterable[Any]) -> str:
    """Return names as text for a message, not too many of them."""
    shown = [repr(str(name)) for name in names]
    if not shown:
        return "of which there are none"
    more = f" and {len(shown) - _MOST_NAMES} others" if len(shown) > _MOST_NAMES else ""
    return f"one of {', '.join(shown[:_MOST_NAMES])}{more}"
