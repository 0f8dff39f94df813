"""MDT and MDTClustering under the conventions of scikit-learn."""

from __future__ import annotations

import copy
import inspect
import io
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mdt_fast as mdt
from helpers.data import overlapping_clusters
from helpers.estimators import (
    COLUMNS,
    GRAPH,
    LABELS,
    SLICES,
    N,
    assert_same_fit,
    both,
    frames,
    of_new_samples,
    of_training,
    quick,
    views,
    whole,
    whole_frame,
)
from mdt_fast.strategies import Beam, Consensus, Contrastive, Greedy, RandomSequences


def through_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda estimator: pickle.loads(pickle.dumps(estimator)),
    "deepcopy": copy.deepcopy,
    "joblib": through_joblib,
}


def agreement(estimator, X, y):
    """A score as scikit-learn calls it."""
    return adjusted_rand_score(y, estimator.predict(X))


class TestConventions:
    @both
    def test_constructor_only_assigns(self, make):
        given = {name: object() for name in inspect.signature(make).parameters}
        made = make(**given)
        assert vars(made) == given
        assert made.get_params(deep=False) == given

    def test_first_arguments(self):
        assert mdt.MDT(5).n_components == 5
        assert mdt.MDTClustering(5).n_clusters == 5
        for make in (mdt.MDT, mdt.MDTClustering):
            with pytest.raises(TypeError, match="positional"):
                make(5, "beam")

    def test_repr(self):
        assert repr(mdt.MDT()) == "MDT()"
        assert repr(mdt.MDTClustering(3, t=2)) == "MDTClustering(n_clusters=3, t=2)"

    @both
    def test_parameters(self, make):
        made = quick(make, view_slices=SLICES, members=["identity"])
        other = make().set_params(**made.get_params())
        assert other.get_params() == made.get_params()
        assert_same_fit(other.fit(whole()), made.fit(whole()))
        with pytest.raises(ValueError, match="n_neighbours"):
            made.set_params(n_neighbours=3)

    @both
    def test_options_of_the_strategy(self, make):
        made = make(strategy=Beam(width=5, max_steps=3))
        params = made.get_params()
        assert params["strategy"] is made.strategy
        own = {name: value for name, value in params.items() if name.startswith("strategy__")}
        assert own == {f"strategy__{name}": value for name, value in made.strategy.get_params().items()}
        assert (own["strategy__width"], own["strategy__max_steps"], own["strategy__grow"]) == (5, 3, "left")
        assert not any("__" in name for name in made.get_params(deep=False))
        assert not any("__" in name for name in make(strategy="beam").get_params())
        before = made.strategy
        assert made.set_params(strategy__width=3) is made
        assert made.strategy == Beam(width=3, max_steps=3)
        assert before == Beam(width=5, max_steps=3)

    @both
    def test_options_of_a_strategy_by_name(self, make):
        made = make(strategy="beam").set_params(strategy__width=3, strategy__max_steps=4)
        assert made.strategy == Beam(width=3, max_steps=4)
        # Options belong to the new strategy when both are set.
        made.set_params(strategy="greedy", strategy__max_steps=2, t=3)
        assert (made.strategy, made.t) == (Greedy(max_steps=2), 3)
        made.set_params(strategy=Contrastive(steps=3), strategy__learning_rate=0.1)
        assert made.strategy == Contrastive(learning_rate=0.1, steps=3)
        pipeline = make_pipeline(StandardScaler(), made).set_params(**{f"{make.__name__.lower()}__strategy__steps": 9})
        assert pipeline[-1].strategy.steps == 9

    def test_options_of_the_default_strategy(self):
        assert mdt.MDTClustering().set_params(strategy__trajectories=8).strategy == Consensus(trajectories=8)
        assert mdt.MDT().set_params(strategy__steps=8).strategy == Contrastive(steps=8)

    @both
    def test_parameters_with_options(self, make):
        made = quick(make, strategy=Beam(width=1, max_steps=2), n_clusters=3)
        other = make().set_params(**made.get_params())
        assert other.get_params() == made.get_params()
        assert_same_fit(other.fit(views()), made.fit(views()))

    @both
    @pytest.mark.parametrize(
        "strategy", [Beam(width=1, max_steps=2), RandomSequences(n=2, probabilities=np.array([0.25, 0.75]))], ids=str
    )
    def test_clone_of_a_strategy(self, make, strategy):
        made = quick(make, strategy=strategy, n_clusters=3, t=2)
        copied = clone(made)
        assert copied.strategy is not strategy
        assert type(copied.strategy) is type(strategy)
        assert repr(copied.get_params()) == repr(made.get_params())
        assert_same_fit(clone(made).fit(views()), made.fit(views()))

    @both
    @pytest.mark.parametrize("random_state", [0, np.random.RandomState(3)], ids=["int", "RandomState"])
    def test_clone(self, make, random_state):
        made = quick(make, strategy=np.full((2, 2), 0.5), random_state=random_state)
        copied = clone(made)
        fitted = made.fit(views())
        assert not hasattr(clone(fitted), "embedding_")
        assert_same_fit(copied.fit(views()), fitted)

    @both
    @pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
    def test_copies(self, make, copied):
        made = quick(make, members=["teleport"])
        assert copied(made).get_params() == made.get_params()
        fitted = made.fit(frames(LABELS))
        other = copied(fitted)
        assert_same_fit(other, fitted)
        new = [X[:5] for X in overlapping_clusters(N, seed=1)[0]]
        np.testing.assert_array_equal(of_new_samples(other, new), of_new_samples(fitted, new))
        with pytest.raises(ValueError, match=r"X .*order"):
            of_new_samples(other, frames(columns=[COLUMNS[0][::-1], COLUMNS[1]]))

    def test_names_out(self):
        fitted = mdt.MDT(3, strategy=[0], **GRAPH).fit(views())
        assert fitted.get_feature_names_out().tolist() == ["mdt0", "mdt1", "mdt2"]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    @pytest.mark.parametrize("form", [views, whole, frames], ids=["views", "array", "frames"])
    def test_set_output(self, library, form):
        frame = pytest.importorskip(library).DataFrame
        made = quick(mdt.MDT, strategy=[0]).set_output(transform=library)
        for out in (made.fit_transform(form()), made.transform(form())):
            assert isinstance(out, frame)
            assert list(out.columns) == ["mdt0", "mdt1"]
            np.testing.assert_allclose(out.to_numpy(), made.embedding_, atol=1e-8)

    def test_output_keeps_the_index(self):
        made = quick(mdt.MDT, view_slices=SLICES).set_output(transform="pandas")
        assert made.fit_transform(whole_frame(LABELS)).index.tolist() == LABELS
        assert made.transform(whole_frame(LABELS)[5:8]).index.tolist() == LABELS[5:8]

    def test_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), quick(mdt.MDTClustering, view_slices=SLICES))
        expected = quick(mdt.MDTClustering).fit([StandardScaler().fit_transform(X) for X in views()])
        np.testing.assert_array_equal(pipeline.fit_predict(whole()), expected.labels_)
        np.testing.assert_array_equal(pipeline.predict(whole()), expected.labels_)
        pipeline.set_output(transform="pandas").fit(whole_frame())
        np.testing.assert_array_equal(pipeline.predict(whole_frame()), expected.labels_)
        assert pipeline[-1].feature_names_in_.tolist() == [*COLUMNS[0], *COLUMNS[1]]

    def test_column_transformer(self):
        left, right = COLUMNS
        scale = ColumnTransformer([("left", StandardScaler(), left), ("right", "passthrough", right)])
        expected = quick(mdt.MDTClustering).fit([StandardScaler().fit_transform(views()[0]), views()[1]])
        pipeline = make_pipeline(scale, quick(mdt.MDTClustering, view_slices=SLICES))
        np.testing.assert_array_equal(pipeline.fit_predict(whole_frame()), expected.labels_)
        beside = ColumnTransformer(
            [("geometry", quick(mdt.MDT, strategy=[0]), right), ("as it is", "passthrough", left)]
        )
        made = beside.fit_transform(whole_frame())
        np.testing.assert_array_equal(made[:, :2], quick(mdt.MDT, strategy=[0]).fit_transform(views()[1]))
        np.testing.assert_allclose(beside.transform(whole_frame()), made, atol=1e-8)
        assert beside.get_feature_names_out().tolist()[:2] == ["geometry__mdt0", "geometry__mdt1"]

    @pytest.mark.parametrize("grid", [{"t": [1, 2]}, {"n_neighbors": [30, 45]}], ids=str)
    @pytest.mark.parametrize("is_routed", [False, True])
    def test_grid_search(self, grid, is_routed):
        made = quick(mdt.MDTClustering, strategy="mean", view_slices=SLICES)
        (name, choices), (_, target) = *grid.items(), overlapping_clusters(N)
        with sklearn.config_context(enable_metadata_routing=is_routed):
            found = GridSearchCV(made, grid, scoring=agreement, cv=3, error_score="raise").fit(whole(), target)
        for choice, score in zip(choices, found.cv_results_["mean_test_score"], strict=True):
            expected = cross_val_score(
                clone(made).set_params(**{name: choice}), whole(), target, scoring=agreement, cv=3
            )
            assert score == expected.mean()
        assert found.best_estimator_.get_params()[name] == found.best_params_[name]
        np.testing.assert_array_equal(found.predict(whole()), found.best_estimator_.labels_)

    @pytest.mark.parametrize("strategy", [Beam(max_steps=2), "beam"], ids=str)
    @pytest.mark.parametrize("widths", [[1, 3], np.array([1, 3])], ids=["ints", "array"])
    def test_grid_search_over_options(self, strategy, widths):
        made, (_, target) = quick(mdt.MDTClustering, strategy=strategy, view_slices=SLICES), overlapping_clusters(N)
        grid = {"strategy__width": widths}
        found = GridSearchCV(made, grid, scoring=agreement, cv=2, error_score="raise").fit(whole(), target)
        for width, score in zip(widths, found.cv_results_["mean_test_score"], strict=True):
            chosen = Beam(width=int(width), max_steps=None if strategy == "beam" else 2)
            expected = cross_val_score(
                clone(made).set_params(strategy=chosen), whole(), target, scoring=agreement, cv=2
            )
            assert score == expected.mean()
        assert found.best_estimator_.strategy.width == found.best_params_["strategy__width"]
        np.testing.assert_array_equal(found.predict(whole()), found.best_estimator_.labels_)
        assert made.strategy is strategy

    def test_grid_search_over_strategies(self):
        made, (_, target) = quick(mdt.MDTClustering, view_slices=SLICES), overlapping_clusters(N)
        grid = {"strategy": ["mean", Beam(max_steps=2), Consensus(trajectories=4)]}
        found = GridSearchCV(made, grid, scoring=agreement, cv=2, error_score="raise").fit(whole(), target)
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()

    @both
    def test_metadata_routing(self, make):
        plain = quick(make, view_slices=SLICES).fit(whole())
        with sklearn.config_context(enable_metadata_routing=True):
            routed = make_pipeline(StandardScaler(with_mean=False, with_std=False), clone(plain)).fit(whole())
            assert_same_fit(routed[-1], plain)
            first = clone(plain)
            once = first.fit_transform(whole()) if make is mdt.MDT else first.fit_predict(whole())
        np.testing.assert_array_equal(once, of_training(plain))


def test_names_out_before_fit():
    with pytest.raises(NotFittedError, match="MDT"):
        mdt.MDT().get_feature_names_out()


@pytest.mark.parametrize(
    "estimator",
    [
        mdt.MDT(strategy="mean", t=2),
        mdt.MDTClustering(3, strategy="beam", t=2),
        mdt.MDTClustering(3, kernel="gaussian", n_neighbors="log", anisotropy=0.0, joint=False, t=2),
        *(mdt.baselines.make(n, n_clusters=3) for n in ("AD", "MVD")),
    ],
)
def test_operators_in_place_of_views(estimator):
    views = list(np.random.default_rng(0).normal(size=(2, 60, 3)))
    ops = mdt.build_operators(views)
    from_views, from_operators = clone(estimator).fit(views), clone(estimator).fit(ops)
    np.testing.assert_array_equal(from_operators.embedding_, from_views.embedding_)
    assert from_operators.operators_.n_views == from_operators.n_views_in_ == 2
    assert from_operators.view_names_ == ["view 0", "view 1"]
    if hasattr(estimator, "transform"):
        np.testing.assert_array_equal(from_operators.transform(views), from_views.transform(views))
