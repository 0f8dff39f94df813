"""Wrong parameters and views of MDT and MDTClustering."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import mdt_fast as mdt
from helpers.estimators import (
    COLUMNS,
    SLICES,
    N,
    both,
    frames,
    of_new_samples,
    polars_frames,
    quick,
    views,
    whole,
    whole_frame,
)
from mdt_fast.strategies import Beam


def holed(X):
    X = np.array(X)
    X[5, 1] = np.nan
    return X


def masked():
    return np.ma.masked_greater(whole(), 2.0)


# Parameters, views, the error, and the argument that it names.
BAD = {
    "rows": ({}, lambda: [views()[0], views()[1][:-1]], ValueError, r"X: .*same number of samples.*120.*119"),
    "1-D view": ({}, lambda: [views()[0], views()[1][:, 0]], ValueError, r"X \(view 1\): expected a 2-D array.*1-D"),
    "NaN in a view": ({}, lambda: [views()[0], holed(views()[1])], ValueError, r"X \(view 1\).*nan at row 5, column 1"),
    "NaN in an array": ({}, lambda: holed(whole()), ValueError, "X contains NaN"),
    "empty list": ({}, list, ValueError, "X: expected at least one view, got none"),
    "no view": ({}, dict, ValueError, "X: expected at least one view, got none"),
    "not a view": ({}, lambda: [views()[0], None], TypeError, r"X \(view 1\): .*NoneType"),
    "no columns": ({}, lambda: [views()[0], views()[1][:, :0]], ValueError, r"X \(view 1\): .*at least 1 feature"),
    "mask in a view": ({"strategy": [0]}, lambda: [views()[1], masked()], TypeError, r"X \(view 1\): .*mask"),
    "mask": ({"strategy": [0]}, masked, TypeError, "X.*mask"),
    "strategy": ({"strategy": "beams"}, views, ValueError, "strategy: .*'beams'"),
    "sequence": ({"strategy": [0, 2]}, views, ValueError, "strategy: .*got 2"),
    "weights": ({"strategy": [[0.5, 0.6]]}, views, ValueError, "strategy: .*1.1"),
    "no strategy": ({"strategy": None}, views, TypeError, "strategy: .*None"),
    "t": ({"t": 0, "strategy": "mean"}, views, ValueError, "t: .*got 0"),
    "quality": ({"quality": "best"}, views, ValueError, "quality: .*'best'"),
    "weighting": ({"weighting": "heavy"}, views, ValueError, "weighting: .*'heavy'"),
    "n_neighbors": ({"n_neighbors": [3, 4, 5]}, views, ValueError, "n_neighbors: .*got 3"),
    "verbose": ({"verbose": 2}, views, TypeError, "verbose: expected True, False or a callable, got 2"),
    "random_state": ({"random_state": -1}, views, ValueError, "random_state: .*-1"),
    "many clusters": ({"n_clusters": N + 1}, views, ValueError, "n_clusters: .*121"),
    "no clusters": ({"n_clusters": 0}, views, ValueError, "n_clusters: .*got 0"),
    "half a cluster": ({"n_clusters": 2.5}, views, TypeError, "n_clusters: .*2.5"),
    "many components": ({"n_components": N}, views, ValueError, "n_components: .*119, got 120"),
    "no components": ({"n_components": 0}, views, ValueError, "n_components: .*got 0"),
    "members": ({"members": ["jump"]}, views, ValueError, "members: .*'jump'"),
    "members as str": ({"members": "uniform"}, views, TypeError, "members: expected a list, got 'uniform'"),
    "power 0": ({"members": [0]}, views, ValueError, "members: .*got 0"),
    "power True": ({"members": [True]}, views, (TypeError, ValueError), "members: .*True"),
    "powers": ({"members": [[2, 3]]}, views, (TypeError, ValueError), r"members: .*\[2, 3\]"),
}
BAD_SLICES = {
    "out of range": [(0, 4), (4, 8)],
    "column out of range": [[0, 1], [2, 7]],
    "empty": [(0, 4), (4, 4)],
    "backwards": [(4, 0)],
    "no column": [[]],
    "beyond the end": [(0, 7), (7, 9)],
    "before the start": [slice(-20, 4)],
    "no views": [],
    "fractions": [[0.0, 1.0]],
    "three numbers": [(0, 1, 2)],
    "a number": [3],
    "not a list": slice(0, 4),
    "one name twice": {1: (0, 4), "1": (4, 7)},
}
# Columns of frames in another order than in fit: fitted views, `view_slices`, new views.
SHUFFLED = [["c", "a", "b", "d"], COLUMNS[1]]
NEW_FRAMES = {
    "list": (frames, None, lambda: frames(columns=SHUFFLED)),
    "dict": (
        lambda: dict(zip("xy", frames(), strict=True)),
        None,
        lambda: dict(zip("yx", frames(columns=SHUFFLED)[::-1], strict=True)),
    ),
    "polars": (polars_frames, None, lambda: [polars_frames()[0].select(SHUFFLED[0]), polars_frames()[1]]),
    "one frame": (whole_frame, SLICES, lambda: whole_frame()[list("bacdefg")]),
    "one frame, then in a list": (lambda: frames()[0], None, lambda: frames(columns=SHUFFLED)[:1]),
    "cut frame, then frames": (whole_frame, SLICES, lambda: frames(columns=SHUFFLED)),
    "frame in a list, then by itself": (lambda: frames()[:1], None, lambda: frames(columns=SHUFFLED)[0]),
}
NEW = {
    "fewer views": (lambda: views()[:1], "X: expected 2 views, got 1"),
    "more views": (lambda: [*views(), whole()], "X: expected 2 views, got 3"),
    "one array": (whole, "X: expected 2 views, got 1"),
    "fewer columns": (lambda: [views()[0][:, :3], views()[1]], r"X \(view 0\): expected 4 features, got 3"),
    "more columns": (lambda: [views()[0], whole()], r"X \(view 1\): expected 3 features, got 7"),
    "other names": (lambda: {"view 0": views()[0], "sound": views()[1]}, "X: expected a view for each of .*'sound'"),
    "rows": (lambda: [views()[0], views()[1][:7]], "X: .*same number of samples"),
    "NaN": (lambda: [holed(views()[0]), views()[1]], r"X \(view 0\): .*nan at row 5"),
}


@both
class TestBadInput:
    @pytest.mark.parametrize(("parameters", "X", "error", "message"), BAD.values(), ids=BAD)
    def test_fit(self, make, parameters, X, error, message):
        with pytest.raises(error, match=message):
            quick(make, **parameters).fit(X())

    @pytest.mark.parametrize("slices", BAD_SLICES.values(), ids=BAD_SLICES)
    def test_slices(self, make, slices):
        with pytest.raises((TypeError, ValueError), match=r"^view_slices"):
            quick(make, strategy=[0], view_slices=slices).fit(whole())

    @pytest.mark.parametrize(("X", "message"), NEW.values(), ids=NEW)
    def test_new_samples(self, make, X, message):
        fitted = quick(make).fit(views())
        with pytest.raises(ValueError, match=message):
            of_new_samples(fitted, X())

    def test_other_number_of_columns_in_one_array(self, make):
        fitted = quick(make, view_slices=SLICES).fit(whole())
        with pytest.raises(ValueError, match=r"X has 6 features, but .* is expecting 7"):
            of_new_samples(fitted, whole()[:, :6])

    @pytest.mark.parametrize(("X", "slices", "new"), NEW_FRAMES.values(), ids=NEW_FRAMES)
    def test_columns_in_another_order(self, make, X, slices, new):
        fitted = quick(make, strategy=[0], view_slices=slices).fit(X())
        with pytest.raises(ValueError, match="order"):
            of_new_samples(fitted, new())

    def test_new_samples_do_not_change_the_estimator(self, make):
        fitted = quick(make, strategy=[0]).fit(frames()[:1])
        with pytest.warns(UserWarning, match="feature names"):
            of_new_samples(fitted, views()[0])
        with pytest.raises(ValueError, match="order"):
            of_new_samples(fitted, frames(columns=SHUFFLED)[:1])

    @pytest.mark.parametrize("name", ["max_steps", "beam_width", "search_options", "foo"])
    def test_unknown_parameters(self, make, name):
        with pytest.raises(TypeError, match=f"'{name}'"):
            make(**{name: 2})
        with pytest.raises(ValueError, match=f"Invalid parameter '{name}'"):
            make().set_params(**{name: 2})

    @pytest.mark.parametrize("strategy", ["beam", Beam(width=5)], ids=str)
    def test_unknown_option_of_the_strategy(self, make, strategy):
        made = make(strategy=strategy)
        with pytest.raises(ValueError, match=r"'beam': expected one of .*'width'.* got 'foo'"):
            made.set_params(strategy__foo=1)
        with pytest.raises(ValueError, match=r"width: expected an integer >= 1.* got 0"):
            made.set_params(strategy__width=0)
        assert made.strategy is strategy

    def test_options_of_an_unknown_strategy(self, make):
        with pytest.raises(ValueError, match=r"strategy: .*'beams'"):
            make(strategy="beams").set_params(strategy__width=3)

    def test_before_fit(self, make):
        with pytest.raises(NotFittedError, match=make.__name__):
            of_new_samples(quick(make), views())


def test_n_components_is_required():
    with pytest.raises(TypeError, match=r"n_components: .*None"):
        quick(mdt.MDT, n_components=None).fit(views())
