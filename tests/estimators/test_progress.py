"""Progress from the first second of a fit, and its time limit."""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.estimators import assert_same_fit, both, quick, views
from mdt_fast._graphs import new_rows
from mdt_fast.strategies import Beam

# The stages of a fit whose graphs have a joint view, or none.
GRAPHS = ["views", "neighbours", "operators", "neighbours", "operators"]
REST = ["diffusion time", "search", "embedding", "labels"]
STAGES = {"beam": [*GRAPHS, *REST], "auto": [*GRAPHS, "views", "neighbours", "operators", *REST]}


def blobs(n):
    data = mdt.datasets.make_multiview_blobs(n, n_features=50, n_clusters=10, cluster_std=6, random_state=0)
    return [X.astype(np.float32) for X in data.views]


class Watch:
    """A callable that stores what it gets, and when."""

    def __init__(self):
        self.began = time.monotonic()
        self.reports, self.times = [], [0.0]

    def __call__(self, report):
        self.reports.append(report)
        self.times.append(time.monotonic() - self.began)

    @property
    def stages(self):
        return [stage for stage, _ in itertools.groupby(report.stage for report in self.reports)]

    def of(self, stage):
        return [report for report in self.reports if report.stage == stage]


@pytest.fixture(scope="module", params=[("beam", 50_000), ("auto", 20_000)], ids=["beam", "auto"])
def watched(request):
    """A fit of a few seconds, and what was reported."""
    strategy, n = request.param
    Xs, watch = blobs(n), Watch()
    model = mdt.MDTClustering(10, strategy=strategy, max_evaluations=6, verbose=watch).fit(Xs)
    watch.times.append(time.monotonic() - watch.began)
    return strategy, watch, model


class TestReports:
    def test_stages_in_their_order(self, watched):
        strategy, watch, _ = watched
        assert watch.stages == STAGES[strategy]

    def test_from_the_first_second_on(self, watched):
        _, watch, _ = watched
        assert watch.times[1] < 0.5
        assert watch.times[-1] > 1
        # Also inside long stages; other processes may take the machine for a moment.
        assert np.diff(watch.times).max() < 2

    def test_long_stages_are_reported_several_times(self, watched):
        _, watch, _ = watched
        long = watch.of("diffusion time")
        assert len(long) > 3 * (long[-1].stage_seconds - 0.5)
        assert long[-1].stage_seconds > long[0].stage_seconds

    def test_views_are_named_and_counted(self, watched):
        strategy, watch, model = watched
        names = model.operators_.names[: model.operators_.n_views]
        seen = [key for key, _ in itertools.groupby(watch.of("neighbours"), lambda r: (r.detail, r.n_done, r.n_total))]
        assert seen == [(name, v, len(names)) for v, name in enumerate(names)]
        assert ("joint" in names) == (strategy == "auto")

    def test_times_and_counts(self, watched):
        _, watch, model = watched
        seconds = [report.seconds for report in watch.reports]
        assert seconds == sorted(seconds)
        assert all(0 <= report.stage_seconds <= report.seconds for report in watch.reports)
        last = watch.of("search")[-1]
        assert last.n_evaluations == last.n_done == len(model.search_history_)
        assert last.best_score == model.search_history_["score"].max()
        assert all(report.n_evaluations == 0 for report in watch.of("diffusion time"))

    @both
    def test_the_fit_does_not_depend_on_it(self, make):
        watch = Watch()
        how = {"strategy": Beam(max_steps=2), "t": 2}
        assert_same_fit(quick(make, verbose=watch, **how).fit(views()), quick(make, **how).fit(views()))
        assert watch.stages[0] == "views"

    @pytest.mark.parametrize("stage", ["views", "neighbours", "diffusion time", "search", "embedding", "labels"])
    def test_an_exception_ends_the_fit(self, stage):
        class StopError(Exception):
            pass

        def stop(report):
            if report.stage == stage:
                raise StopError("enough")

        with pytest.raises(StopError, match="enough"):
            mdt.MDTClustering(3, strategy="greedy", verbose=stop).fit([X[:40] for X in views()])
        # The next call does not report to it.
        mdt.build_operators(views())

    def test_an_exception_stops_work_of_the_core(self):
        """The heartbeat of a long call raises, and the call ends at once."""

        def stop(report):
            if report.stage_seconds > 0.2:
                raise TimeoutError

        Xs = [np.random.default_rng(0).normal(size=(40_000, 30)) for _ in range(2)]
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            mdt.build_operators(Xs, neighbors="exact", progress=stop)
        assert time.monotonic() - begin < 2


class TestFunctions:
    def test_operators(self):
        watch = Watch()
        mdt.build_operators({"a": views()[0], "b": views()[1]}, progress=watch)
        assert watch.stages == GRAPHS
        assert {report.detail for report in watch.of("neighbours")} == {"a", "b"}

    @pytest.mark.parametrize("method", ["exact", "stochastic"])
    def test_time(self, method):
        ops, watch = mdt.build_operators(views()), Watch()
        found = mdt.select_time(ops, max_t=8, method=method, progress=watch)
        assert found.t == mdt.select_time(ops, max_t=8, method=method).t
        assert watch.stages == ["diffusion time"]
        assert watch.reports[-1].n_done == len(found.evaluated)

    def test_number_of_clusters(self):
        ops, watch = mdt.build_operators(views()), Watch()
        found = mdt.select_n_clusters(ops, max_clusters=8, progress=watch)
        assert watch.stages == ["number of clusters"]
        assert watch.reports[-1].n_done == len(found.counts)

    def test_search(self):
        ops, watch = mdt.build_operators(views()), Watch()
        mdt.search(ops, 3, strategy=Beam(max_steps=2), view_weights="auto", t=2, progress=watch)
        assert watch.stages == ["view weights", "search"]

    @pytest.mark.parametrize("progress", [3, "bar", int])
    def test_wrong_argument(self, progress):
        with pytest.raises(TypeError, match=r"progress: expected None, True, False or a callable, got"):
            mdt.build_operators(views(), progress=progress)

    def test_a_line_on_the_terminal(self, capfd):
        mdt.build_operators({"left\x1b[2J": views()[0]}, progress=True)
        out, err = capfd.readouterr()
        assert not out
        assert err.startswith("\rviews")
        assert err.endswith("\n")
        assert "neighbours [" in err
        assert "\x1b" not in err


class TestTimeLimit:
    @pytest.mark.parametrize("strategy", ["beam", "convex", "auto"])
    @pytest.mark.parametrize("limit", [4.0, 8.0])
    def test_it_is_kept(self, strategy, limit):
        Xs = blobs(20_000)
        strategy = mdt.strategies.RandomWeights(n=1000) if strategy == "convex" else strategy
        begin = time.monotonic()
        with warnings.catch_warnings():
            # A busy machine may spend the limit on the graphs.
            warnings.simplefilter("ignore", mdt.TimeSelectionWarning)
            warnings.simplefilter("ignore", mdt.TimeLimitWarning)
            model = mdt.MDTClustering(10, strategy=strategy, time_limit=limit, t="auto").fit(Xs)
        seconds, history = time.monotonic() - begin, model.search_history_
        assert len(history) >= 1
        assert seconds < limit + max(1.0, history["seconds"].max())
        assert len(np.unique(model.labels_)) == 10
        if model.search_result_.stopped is None:
            assert seconds < limit

    def test_what_cannot_be_kept_is_said(self):
        with pytest.warns() as caught:
            model = mdt.MDTClustering(10, strategy="beam", time_limit=0.01).fit(blobs(60_000))
        messages = {warning.category: str(warning.message) for warning in caught}
        late = messages[mdt.TimeLimitWarning]
        assert late.startswith("time_limit: expected 0.01 s, got a fit of ")
        for stage in ("neighbours", "operators", "search", "embedding", "labels"):
            assert f"{stage} " in late
        assert "t = 8 is taken" in messages[mdt.TimeSelectionWarning]
        assert all(warning.filename == __file__ for warning in caught)
        assert (model.t_, model.search_result_.stopped) == (8, "time_limit")
        assert len(model.search_history_) >= 1
        assert len(np.unique(model.labels_)) == 10

    @both
    def test_a_long_limit_changes_nothing(self, make):
        how = {"strategy": Beam(max_steps=3)}
        assert_same_fit(quick(make, time_limit=600, **how).fit(views()), quick(make, **how).fit(views()))

    def test_time(self):
        ops = mdt.build_operators(blobs(20_000))
        begin = time.monotonic()
        with pytest.warns(mdt.TimeSelectionWarning, match=r"after 0 times; t = 8 is taken"):
            found = mdt.select_time(ops, time_limit=0.2)
        assert time.monotonic() - begin < 1.2
        assert (found.t, found.has_knee, len(found.evaluated)) == (8, False, 0)

    def test_part_of_the_times(self):
        """The knee is that of the times so far, which are those of a choice without a limit."""
        ops = mdt.build_operators(mdt.datasets.make_helix_b(600).views)

        def pause(report):
            time.sleep(2 if report.n_done == 9 else 0)

        with pytest.warns(mdt.TimeSelectionWarning, match=r"after 9 times; t = \d+ is taken"):
            found = mdt.select_time(ops, time_limit=2, progress=pause)
        whole = mdt.select_time(ops)
        np.testing.assert_array_equal(found.entropies, [*whole.entropies[:9], *[np.nan] * 41])
        np.testing.assert_array_equal(found.evaluated, np.arange(1, 10))
        assert found.has_knee
        assert 1 <= found.t <= 9

    def test_number_of_clusters(self):
        ops = mdt.build_operators(views())
        with pytest.warns(mdt.ClusterSelectionWarning):
            found = mdt.select_n_clusters(ops, time_limit=0)
        assert found.counts.tolist() == [2]
        assert found.n_clusters == 2

    @pytest.mark.parametrize("how", [{"t": "auto"}, {"t": 6, "view_weights": "auto"}], ids=["time", "view weights"])
    def test_a_search_keeps_it_with_its_choices(self, how):
        ops = mdt.build_operators(blobs(20_000), n_neighbors=10)
        begin = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdt.TimeSelectionWarning)
            found = mdt.search(ops, 10, time_limit=0.7, progress=False, **how)
        assert time.monotonic() - begin < 0.7 + max(1.0, found.history["seconds"].max())
        assert found.stopped == "time_limit"
        assert found.labels is not None

    def test_weights_beside_a_checkpoint_have_no_limit(self, tmp_path):
        ops = mdt.build_operators(views())
        how = {"strategy": Beam(max_steps=2), "t": 2, "view_weights": "auto", "progress": False}
        path = tmp_path / "known.json"
        cut = mdt.search(ops, 3, time_limit=0, checkpoint=path, **how)
        whole = mdt.search(ops, 3, checkpoint=path, **how)
        assert cut.settings["view_weights"] == whole.settings["view_weights"]
        assert cut.n_evaluations < whole.n_evaluations

    @pytest.mark.parametrize("limit", [-1, "long", float("nan")])
    def test_wrong_argument(self, limit):
        with pytest.raises((TypeError, ValueError), match=r"time_limit: expected a finite number >= 0, got"):
            mdt.MDTClustering(3, time_limit=limit).fit(views())


# An estimator, and its method for new samples.
NEW_SAMPLES = {
    "coordinates": (lambda **how: mdt.MDT(2, strategy="mean", t=2, **how), "transform"),
    "centres": (lambda **how: mdt.MDTClustering(3, strategy="mean", t=2, **how), "predict"),
    "consensus": (lambda **how: mdt.MDTClustering(3, t=2, **how), "predict"),
    "memberships": (lambda **how: mdt.MDTClustering(3, t=2, **how), "memberships"),
}


class TestNewSamples:
    @pytest.mark.parametrize("kind", NEW_SAMPLES)
    def test_they_are_counted(self, kind, monkeypatch):
        make, method = NEW_SAMPLES[kind]
        model, new = make(n_neighbors=40).fit(views()), [X + 0.01 for X in views()]
        expected = getattr(model, method)(new)
        monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", 50)
        watch = Watch()
        model.set_params(verbose=watch)
        np.testing.assert_array_equal(getattr(model, method)(new), expected)
        assert watch.stages == ["new samples"]
        n = len(new[0])
        assert list(dict.fromkeys(report.n_done for report in watch.reports)) == [0, 50, 100, n]
        assert {report.n_total for report in watch.reports[1:]} == {n}

        def stop(report):
            if report.n_done == 50:
                raise RuntimeError("enough")

        model.set_params(verbose=stop)
        with pytest.raises(RuntimeError, match="enough"):
            getattr(model, method)(new)
        model.set_params(verbose=False)
        np.testing.assert_array_equal(getattr(model, method)(new), expected)

    def test_work_of_the_index_is_reported_and_stops(self):
        X = blobs(30_000)[0]
        found = mdt.embed(mdt.build_operators([X], neighbors="approx").trajectory([0]), 2)
        new = np.concatenate([X + 0.1, X - 0.1, X + 0.2])
        found.transform([new[:1]])
        watch = Watch()
        found.transform([new], progress=watch)
        # One batch, whose search takes longer than a few intervals of the heartbeat.
        assert len(watch.reports) > 5

        def stop(report):
            if report.stage_seconds > 0.1:
                stopped.append(time.monotonic())
                raise TimeoutError

        stopped = []
        with pytest.raises(TimeoutError):
            found.transform([new], progress=stop)
        assert time.monotonic() - stopped[0] < 1
