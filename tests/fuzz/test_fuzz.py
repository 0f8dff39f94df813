"""A short run of both fuzzers with fixed cases, and checks that the fuzzers find what they look for.

`make fuzz` runs for longer. A fault that it finds becomes a test where the code is tested.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt

from .arguments import missing_generators
from .command import describe
from .draw import Draw
from .errors import fault_of, names_one
from .originals import FORMATS
from .promises import BrokenPromiseError, check_result, check_round_trips, compare, digest
from .targets import all_targets
from .workers import run_cases

# A few seconds each.
N_CALLS = 500
N_FILES = 250


@pytest.mark.parametrize(("suite", "n_cases"), [("api", N_CALLS), ("files", N_FILES)])
def test_no_case_breaks_a_promise(suite, n_cases):
    tally = run_cases(suite, range(n_cases))
    assert tally.n_cases == n_cases
    assert not tally.faults, "\n".join(describe(suite, fault) for fault in tally.faults)
    assert tally.outcomes["answered"] > 0.05 * n_cases
    assert tally.outcomes["refused"] > 0.05 * n_cases


def test_every_parameter_of_the_public_interface_has_a_generator():
    assert missing_generators() == []


def test_targets_cover_the_public_names():
    names = {name.split(".")[0] for name in all_targets()}
    functions = {name for name in mdt.__all__ if callable(getattr(mdt, name)) and name[0].islower()}
    assert functions <= names
    assert {"MDT.fit", "OperatorSet.trajectory", "quality.silhouette", "strategies.Beam"} <= set(all_targets())


def test_every_format_of_the_command_line_is_fuzzed():
    from mdt_fast._cli.readers import READERS

    assert set(READERS) <= set(FORMATS)


def test_a_case_is_the_same_at_another_number_of_threads():
    first, second = Draw(17, 1), Draw(17, 3)
    assert (first.n, first.n_clusters, first.is_clean) == (second.n, second.n_clusters, second.is_clean)
    assert first.rng.random() == second.rng.random()


def test_a_crash_and_a_hang_cost_one_case():
    tally = run_cases("broken", range(6), processes=1, cpu_limit=1.0, wall_limit=3.0)
    assert tally.n_cases == 6
    found = {fault.case: fault.outcome for fault in tally.faults}
    assert found == {1: "SIGSEGV", 2: "hang", 3: "hang", 4: "exit 3"}
    assert tally.outcomes["answered"] == 2


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError("n_clusters: expected an integer >= 2, got 1"), None),
        (TypeError("t: expected an int, got 'x'"), None),
        (ValueError("X (camera): expected finite numbers, got nan"), None),
        (ValueError("camera: expected numbers"), None),
        (MemoryError("42 GB"), None),
        (ValueError("setting an array element with a sequence"), "error without a name"),
        (ValueError("Xs: expected a list"), "error without a name"),
        (IndexError("n_clusters: out of range"), "raised IndexError"),
        (np.linalg.LinAlgError("X: singular"), "raised LinAlgError"),
        (OverflowError("int too big to convert"), "raised OverflowError"),
    ],
)
def test_errors_are_answers_only_if_they_name_an_argument(error, fault):
    assert fault_of(error, ["X", "n_clusters", "t"], ["camera"]) == fault


def test_short_names_need_punctuation():
    assert not names_one("got a value that t cannot have", ["t"], [])
    assert names_one("expected t=3", ["t"], [])


def test_promises_are_checked():
    X = np.random.default_rng(0).normal(size=(20, 3))
    ops = mdt.build_operators([X, X[:, :2]])
    result = mdt.search(ops, 3, t=2)
    check_result("search", result)
    check_round_trips(result)
    changed = {**digest(result), ".labels": ""}
    with pytest.raises(BrokenPromiseError, match=r"\.labels differs"):
        compare(digest(result), changed, "second run")
    with pytest.raises(BrokenPromiseError, match="not finite"):
        check_result("embed", np.array([1.0, np.nan]))
    with pytest.raises(BrokenPromiseError, match="not stochastic"):
        check_result("OperatorSet.new_rows", [sparse.csr_array(np.full((2, 3), 0.4))])


def test_a_digest_tells_views_from_their_copies_only_by_their_bits():
    X = np.arange(6.0).reshape(2, 3)
    assert digest([X]) == digest([X.copy()])
    assert digest([X]) != digest([X + 1e-15])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert digest(sparse.csr_array(X)) == digest(sparse.csr_array(X.copy()))
