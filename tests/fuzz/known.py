"""Faults that are known and not mended yet: the short run in the tests ignores them, the commands report them.

An entry is removed together with the fault. The list is empty when every figure of docs/reliability.md is reached.
"""

from __future__ import annotations

import re

from .workers import Report

# A pattern of "outcome: what was called: detail", and the fault.
KNOWN: dict[str, str] = {
    r"name: Trajectory\.r?mat(mat|vec): .*(vectors:|dimension mismatch|setting an array|len\(\))": "names `vectors`",
    r"OperatorSet\.(has_same_members|stored_walks|walk_matrix): ": "argument is not checked",
    r"study\.(Cell|Study|Table)\.\w+: (AttributeError|TypeError)": "argument is not checked",
    r"(os\.PathLike object|unhashable type)": "a path or a key of another type gives Python's own message",
    r"name: (search|MDT\w*|baselines\.\w+)(\.fit\w*)?: ValueError: labels: expected": "names `labels`",
    r"name: SearchResult\.from_dict: ValueError: result: ": "names `result`",
    r"broken promise: k_means: not finite": "inertia overflows",
    r"warning: nearest_neighbors: RuntimeWarning: overflow": "a scale overflows before distances are scaled back",
    r"raised IndexError: .*out of bounds for axis 1": "indices of given neighbours are not checked",
    r"raised UnicodeEncodeError": "a lone surrogate in a dtype or a name",
    r"Last value of index pointer|index pointer should|vector::_M": "messages of SciPy about a malformed matrix",
    r"hang: \.h5(ad|mu): ": "a data set in place of a group is iterated over row by row",
}


def is_known(fault: Report) -> bool:
    """Return whether a fault is in the list."""
    text = f"{fault.outcome}: {fault.what}: {' '.join(fault.detail.split())}"
    return any(re.search(pattern, text) for pattern in KNOWN)
