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
from .holes import masks, views_with_holes
from .originals import FORMATS
from .promises import (
    BrokenPromiseError,
    check_absences,
    check_present,
    check_result,
    check_round_trips,
    compare,
    digest,
)
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


@pytest.fixture(name="lacking")
def operators_of_views_that_lack_samples():
    X, Y = np.random.default_rng(0).normal(size=(2, 20, 3))
    Y[[2, 5]] = np.nan
    return mdt.build_operators([X, Y], n_neighbors=3)


def test_steps_of_views_that_lack_samples_are_checked(lacking, monkeypatch):
    check_absences(lacking)
    monkeypatch.setattr(lacking, "absent", "stay")
    stays = [P.copy() for P in lacking.views]
    monkeypatch.setattr(mdt.OperatorSet, "views", property(lambda ops: tuple(stays)))
    with pytest.raises(BrokenPromiseError, match=r"views\[1\]: row 2 is not that of a sample that the view lacks"):
        check_absences(lacking)
    stays[1] = stays[0]
    with pytest.raises(BrokenPromiseError, match=r"views\[1\]: a step leads to a sample that the view lacks"):
        check_absences(lacking)


def test_samples_are_compared_with_those_that_were_given(lacking):
    known = list(lacking.present.T)
    given = [np.zeros((20, 3))] * 2
    check_present(lacking, known, given, "absent")
    with pytest.raises(BrokenPromiseError, match="view 0 has other samples than were given"):
        check_present(lacking, [known[1], known[1]], given, "keep")
    more = [known[0], np.ones(20, dtype=bool)]
    check_present(lacking, more, [given[0], sparse.csr_array(given[1])], "absent")
    with pytest.raises(BrokenPromiseError, match="view 1 has other samples than were given"):
        check_present(lacking, more, given, "absent")


def test_expected_features_are_checked(lacking):
    model = mdt.MDT(2, strategy=[0, 1]).fit(lacking)
    found = model.impute(1)
    check_result("MDT.impute", found)
    found.values[0] = np.nan
    with pytest.raises(BrokenPromiseError, match="impute: expected nan exactly where"):
        check_result("MDT.impute", found)


@pytest.mark.filterwarnings("ignore")
def test_views_with_holes_are_accepted_and_refused():
    n_answers = n_refusals = 0
    for case in range(200):
        draw = Draw(case)
        Xs = views_with_holes(draw)
        align = "outer" if draw.wants_alignment else None
        present = masks(draw) if draw.wants_masks else None
        try:
            ops = mdt.build_operators(Xs, present=present, align=align, n_neighbors=1)
        except (TypeError, ValueError):
            n_refusals += 1
            continue
        check_absences(ops)
        n_answers += ops.has_absences
    assert n_answers > 50
    assert n_refusals > 20


def test_a_digest_tells_views_from_their_copies_only_by_their_bits():
    X = np.arange(6.0).reshape(2, 3)
    assert digest([X]) == digest([X.copy()])
    assert digest([X]) != digest([X + 1e-15])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert digest(sparse.csr_array(X)) == digest(sparse.csr_array(X.copy()))
