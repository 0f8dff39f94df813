"""Row labels of data frames: rows of all views must be the same samples in the same order.

The default index of pandas counts the rows from 0. Beside text labels it says nothing, and the
order of its frame is taken on trust, as that of an array. Beside other numbers it is a set of labels
like them: rows that were dropped or shuffled in one frame only would be fused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any


def check_row_labels(pairs: Sequence[tuple[str, Any]], argument: str) -> None:
    """Raise ValueError if the row labels of two frames differ; `pairs` are names and views."""
    labelled = [(name, X.index) for name, X in pairs if has_index(X)]
    for (first_name, first), (name, index) in combinations(labelled, 2):
        if _are_equal(first, index) or _is_no_label(first, index) or _is_no_label(index, first):
            continue
        if first.nlevels != index.nlevels:
            raise ValueError(
                f"{argument}: expected row labels with the same number of levels, got {first.nlevels} in {first_name} "
                f"and {index.nlevels} in {name}"
            )
        alone = first.symmetric_difference(index, sort=False)
        if len(alone):
            (label,) = alone[:1].tolist()
            holder = first_name if label in first else name
            raise ValueError(
                f"{argument}: expected one set of row labels in all views, got {label!r} in {holder} only; "
                "align='outer' joins the rows by their labels, df.loc[labels] selects common rows, and df.to_numpy() "
                "has no labels, if the rows are the same samples in one order"
            )
        if first.has_duplicates or index.has_duplicates:
            got, advice = "repeated labels in another order", "make the labels unique, or sort the rows"
        else:
            got, advice = "the labels in another order", f"df.loc[index of {first_name}] puts them in order"
        raise ValueError(f"{argument}: expected rows in one order, got {got} in {name} than in {first_name}; {advice}")


def row_labels(views: Iterable[Any]) -> Any:
    """Return the index of the first frame with labels of its own, else of the first frame, else None."""
    found = [X.index for X in views if has_index(X)]
    return next((index for index in found if not _is_default(index)), found[0] if found else None)


def _are_equal(first: Any, index: Any) -> bool:
    """Return whether two indices have the same labels; types such as "string" and "object" may differ."""
    if first.equals(index):
        return True
    is_comparable = len(first) == len(index) and first.nlevels == index.nlevels
    return is_comparable and bool(first.astype(object).equals(index.astype(object)))


def has_index(X: Any) -> bool:
    """Return whether an object is a data frame with row labels."""
    return hasattr(X, "columns") and hasattr(getattr(X, "index", None), "symmetric_difference")


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _is_no_label(index: Any, other: Any) -> bool:
    """Return whether `index` is the default one, beside labels that are no numbers."""
    return _is_default(index) and other.inferred_type not in ("integer", "floating")
