"""`--write`: a copy of an .h5ad or .h5mu file with the results in it, and communities by `-n none`."""

from __future__ import annotations

import json
import shutil
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import mdt_fast as mdt
from helpers.commands import N_CLUSTERS, failing, make_views, names_in, read_report, read_table
from helpers.page import Page

pytest.importorskip("click")
anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mudata = pytest.importorskip("mudata")
    scanpy = pytest.importorskip("scanpy")
    muon = pytest.importorskip("muon")

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{category}:{package}")
    for category in ("FutureWarning", "DeprecationWarning")
    for package in ("mudata", "muon", "scanpy", "legacy_api_wrap")
]
N = 120
CELLS = [f"cell {i}" for i in range(N)]
# Fewer cells than there are, in another order.
OF_RNA, OF_PROTEIN = np.arange(10, N), np.arange(N - 5)[::-1]


def make_modality(X, cells, rng, kind="gene"):
    names = pd.Index([CELLS[i] for i in cells], dtype=object)
    made = anndata.AnnData(sparse.csr_matrix(rng.poisson(1.0, size=(len(cells), 7)).astype(np.float32)))
    made.obs_names = names
    made.var_names = [f"{kind} {i}" for i in range(made.n_vars)]
    made.obs["kind"] = pd.Categorical([name[-1] for name in names], categories=[*"0123456789", "unused"])
    made.obsm["X_pca"] = X[cells]
    made.layers["counts"] = made.X.copy()
    made.uns["colours"] = {"a": np.array(["red", "blue"], dtype=object), "n": 3}
    return made


@pytest.fixture(scope="module")
def views():
    return make_views(N, std=2.0).views


@pytest.fixture
def h5mu(folder, views):
    """A file of two modalities, each of which lacks cells."""
    rng = np.random.default_rng(0)
    parts = {
        "rna": make_modality(views["camera"], OF_RNA, rng),
        "prot": make_modality(views["scanner"], OF_PROTEIN, rng, "protein"),
    }
    with mudata.set_options(pull_on_update=False):
        made = mudata.MuData(parts)
    made.obs["plate"] = np.arange(N) % 3
    made.uns["note"] = "kept"
    made.write("cells.h5mu")
    return folder / "cells.h5mu"


@pytest.fixture
def h5ad(folder, views):
    """A file with two views in obsm."""
    made = make_modality(views["camera"], np.arange(N), np.random.default_rng(0))
    made.obsm["protein"] = views["scanner"]
    made.write_h5ad("cells.h5ad", compression="gzip")
    return folder / "cells.h5ad"


def elements(path):
    """Return every dataset and attribute of a file, by its name."""
    found = {}

    def visit(name, element):
        found[name] = ({key: str(value) for key, value in element.attrs.items()}, None)
        if isinstance(element, h5py.Dataset):
            values = element[()]
            found[name] = (
                found[name][0],
                values.tolist() if hasattr(values, "tolist") else values,
                element.compression,
            )

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def assert_same_elsewhere(before, after):
    """Check that a file has all elements of another, unchanged; return the names of the new ones."""
    old, new = elements(before), elements(after)
    for name, element in old.items():
        if name == "obs":
            assert element[0].keys() == new[name][0].keys()
        else:
            assert element == new[name], name
    return sorted(set(new) - set(old))


def read_mudata(path):
    with mudata.set_options(pull_on_update=False):
        return mudata.read_h5mu(path)


JOB = ["--t", 2, "--no-report", "-o", "out"]


def test_h5mu_gets_what_scverse_writes(run, h5mu):
    before = h5mu.read_bytes()
    done = run("cluster", "cells.h5mu", "-n", "none", "--resolution", 0.7, "--write", "written.h5mu", *JOB)
    assert done.code == 0, done.err
    assert done.err == ""
    assert h5mu.read_bytes() == before
    new = assert_same_elsewhere("cells.h5mu", "written.h5mu")
    assert {name.split("/")[0] for name in new} == {"obs", "obsm", "obsp", "uns"}
    written, expected = read_mudata("written.h5mu"), read_mudata("cells.h5mu")
    # No module of this package is imported by anndata or mudata.
    from mdt_fast import scverse

    scverse.pp.neighbors(expected)
    assert written.uns["mdt"] == expected.uns["mdt"]
    for key in ("mdt_connectivities", "mdt_distances"):
        matrix = written.obsp[key]
        assert isinstance(matrix, sparse.csr_matrix)
        np.testing.assert_allclose(matrix.toarray(), expected.obsp[key].toarray(), rtol=1e-12)
    for name in ("rna:mod_weight", "prot:mod_weight"):
        np.testing.assert_allclose(written.obs[name], expected.obs[name], rtol=1e-12)
    scverse.tl.cluster(expected, resolution=0.7, t=2)
    assert_array_equal(written.obs["mdt_cluster"], expected.obs["mdt_cluster"])
    np.testing.assert_allclose(written.obs["mdt_cluster_confidence"], expected.obs["mdt_cluster_confidence"])
    assert written.obs["mdt_cluster"].dtype == expected.obs["mdt_cluster"].dtype
    ours, theirs = written.uns["mdt_cluster"], expected.uns["mdt_cluster"]
    assert (ours["n_clusters"], ours["t"]) == (theirs["n_clusters"], theirs["t"])
    assert ours["score"] == pytest.approx(theirs["score"])
    assert set(theirs["params"]) - set(ours["params"]) == {"t"}
    assert list(written.obs["plate"]) == list(expected.obs["plate"])


def test_partial_cells_have_their_own_results(run, h5mu):
    """Cells of the file are in another order than the samples of the job."""
    assert run("cluster", "cells.h5mu", "-n", N_CLUSTERS, "--write", "written.h5mu", *JOB).code == 0
    written = read_mudata("written.h5mu")
    table, coordinates = read_table("out/labels.csv"), read_table("out/coordinates.csv")
    assert set(table.index) == set(written.obs_names) == set(CELLS)
    assert list(table.index) != list(written.obs_names) or list(written.obs_names) != CELLS
    table, coordinates = table.loc[written.obs_names], coordinates.loc[written.obs_names]
    assert_array_equal(written.obs["mdt_cluster"].astype(int), table["label"])
    np.testing.assert_allclose(written.obs["mdt_cluster_confidence"], table["confidence"])
    np.testing.assert_allclose(written.obsm["X_mdt"], coordinates)
    lacks_rna = ~written.obs_names.isin([CELLS[i] for i in OF_RNA])
    assert_array_equal(written.obs["rna:mod_weight"].to_numpy() == 0, lacks_rna)
    total = written.obs["rna:mod_weight"] + written.obs["prot:mod_weight"]
    np.testing.assert_allclose(total, 1)
    # Neighbours of cells are those of the same cluster, whatever the order of rows.
    C = written.obsp["mdt_connectivities"].tocoo()
    labels = written.obs["mdt_cluster"].to_numpy()
    assert (labels[C.row] == labels[C.col]).mean() > 0.7


def test_cells_that_were_left_out_have_no_results(run, h5mu):
    argv = ["cluster", "cells.h5mu", "-n", N_CLUSTERS, "--missing", "drop", "--write", "written.h5mu"]
    assert run(*argv, *JOB).code == 0
    written = read_mudata("written.h5mu")
    used = [CELLS[i] for i in range(10, N - 5)]
    is_used = written.obs_names.isin(used)
    assert list(read_table("out/labels.csv").index) == used
    for column in ("mdt_cluster", "mdt_cluster_confidence", "rna:mod_weight"):
        assert_array_equal(written.obs[column].isna(), ~is_used)
    assert_array_equal(np.isnan(written.obsm["X_mdt"]).all(axis=1), ~is_used)
    assert_array_equal(np.diff(written.obsp["mdt_distances"].indptr) == 0, ~is_used)
    # The same operators cannot be made from all cells.
    assert "mdt_fast" not in written.uns["mdt"]["params"]


def test_h5ad(run, h5ad, views):
    select = ["--select", "obsm/X_pca", "--select", "obsm/protein"]
    done = run("cluster", "cells.h5ad", *select, "-n", N_CLUSTERS, "--write", "written.h5ad", *JOB)
    assert (done.code, done.err) == (0, "")
    assert_same_elsewhere("cells.h5ad", "written.h5ad")
    written = anndata.read_h5ad("written.h5ad")
    fitted = mdt.MDTClustering(N_CLUSTERS, t=2).fit(views)
    assert_array_equal(written.obs["mdt_cluster"].astype(int), fitted.labels_)
    np.testing.assert_allclose(written.obsm["X_mdt"], fitted.embedding_)
    graph = fitted.fused_graph()
    np.testing.assert_allclose(written.obsp["mdt_connectivities"].toarray(), graph.connectivities.toarray())
    np.testing.assert_allclose(written.obs["protein:mod_weight"], graph.view_weights[:, 1])
    assert written.uns["mdt"]["params"]["use_rep"] == "X_pca"
    np.testing.assert_allclose(written.uns["X_mdt"]["singular_values"], fitted.singular_values_)
    assert list(written.obs["kind"].cat.categories)[-1] == "unused"
    # Unmodified scanpy reads the graph.
    scanpy.tl.umap(written, neighbors_key="mdt", maxiter=10)
    scanpy.tl.leiden(written, neighbors_key="mdt", flavor="igraph", n_iterations=2, directed=False)


def test_muon_reads_the_graph(run, h5mu):
    assert run("cluster", "cells.h5mu", "-n", N_CLUSTERS, "--write", "written.h5mu", *JOB).code == 0
    written = read_mudata("written.h5mu")
    muon.tl.umap(written, neighbors_key="mdt", maxiter=10)
    assert written.obsm["X_umap"].shape == (N, 2)


def test_embed_writes_coordinates_and_graph(run, h5mu):
    done = run("embed", "cells.h5mu", "--strategy", "mean", "-d", 3, "--write", "written.h5mu", *JOB)
    assert done.code == 0
    written = read_mudata("written.h5mu")
    assert written.obsm["X_mdt"].shape == (N, 3)
    assert "mdt_cluster" not in written.obs
    assert written.uns["X_mdt"]["params"]["strategy"] == "Mean()"
    assert written.uns["X_mdt"]["weights"].shape == (2, 2)


def test_two_matrices_of_a_modality_and_another_file(run, h5mu, views):
    pd.DataFrame(views["scanner"], index=pd.Index(CELLS, name="cell")).add_prefix("x").to_csv("camera.csv")
    select = [part for name in ("rna/obsm/X_pca", "rna", "camera") for part in ("--select", name)]
    done = run("cluster", "cells.h5mu", "camera.csv", *select, "-n", N_CLUSTERS, "--write", "written.h5mu", *JOB)
    assert done.code == 0, done.err
    written = read_mudata("written.h5mu")
    weights = ["rna_obsm_X_pca:mod_weight", "rna:mod_weight", "camera:mod_weight"]
    assert set(weights) <= set(written.obs)
    np.testing.assert_allclose(written.obs[weights].sum(axis=1), 1)
    assert "mdt_fast" not in written.uns["mdt"]["params"]
    assert list(written.uns["mdt_cluster"]["params"]["keys"]) == ["X_pca", "X"]


def test_written_twice(run, h5ad):
    """The results of an earlier command are replaced, in the copy of a copy too."""
    argv = ["--select", "obsm/X_pca", "--select", "obsm/protein", *JOB]
    assert run("cluster", "cells.h5ad", "-n", 5, "--write", "one.h5ad", *argv).code == 0
    assert run("cluster", "one.h5ad", "-n", N_CLUSTERS, "--write", "two.h5ad", *argv).code == 0
    assert run("cluster", "cells.h5ad", "-n", N_CLUSTERS, "--write", "one.h5ad", *argv).code == 0
    one, two = anndata.read_h5ad("one.h5ad"), anndata.read_h5ad("two.h5ad")
    assert list(one.obs) == list(two.obs)
    pd.testing.assert_frame_equal(one.obs, two.obs)
    assert one.obs["mdt_cluster"].cat.categories.tolist() == ["0", "1", "2"]


def test_manifest_and_summary_name_the_copy(run, h5ad):
    done = run("cluster", "cells.h5ad", "-n", N_CLUSTERS, "--write", "written.h5ad", "--json", *JOB)
    document = json.loads(done.out)
    assert "written.h5ad" in document["files"]
    assert "copy of the input" in document["seconds"]
    (path, entry) = next(iter(json.loads(Path("out/manifest.json").read_text())["elsewhere"].items()))
    assert Path(path).samefile("written.h5ad")
    assert entry["sha256"] == sha256(Path("written.h5ad").read_bytes()).hexdigest()
    # A later command without a copy names none.
    assert run("cluster", "cells.h5ad", "-n", N_CLUSTERS, *JOB).code == 0
    assert "elsewhere" not in json.loads(Path("out/manifest.json").read_text())


REFUSED = [
    (
        ["cells.h5ad", "--write", "cells.h5ad"],
        "--write: expected another file than the input cells.h5ad, which is",
    ),
    (
        ["cells.h5ad", "--write", "linked.h5ad"],
        "--write: expected another file than the input cells.h5ad, which is",
    ),
    (
        ["cells.h5ad", "--write", "hard.h5ad"],
        "--write: expected another file than the input cells.h5ad, which is",
    ),
    (["cells.h5ad", "--write", "cells.h5mu"], "--write: expected a name that ends in .h5ad, as cells.h5ad does"),
    (["cells.h5ad", "--write", "cells"], "--write: expected a name that ends in .h5ad"),
    (["views.npz", "--write", "cells.h5ad"], "--write: expected one .h5ad or .h5mu file among the inputs, to write"),
    (["cells.h5ad", "other.h5ad", "--write", "x.h5ad"], "got cells.h5ad, other.h5ad"),
    (["cells.h5ad", "--write", "missing/x.h5ad"], "--write: expected a folder that exists, got missing"),
    (["cells.h5ad", "views.npz", "-s", "camera", "--write", "x.h5ad"], "--write: expected views of cells.h5ad among"),
]


@pytest.mark.parametrize(("argv", "match"), REFUSED, ids=[" ".join(argv[:-1]) + argv[-1] for argv, _ in REFUSED])
def test_what_cannot_be_written_is_refused(run, h5ad, argv, match):
    with np.load("views.npz") as views:
        first = {name: views[name][:N] for name in views}
    np.savez("views.npz", **first)
    shutil.copy("cells.h5ad", "other.h5ad")
    Path("linked.h5ad").symlink_to("cells.h5ad")
    Path("hard.h5ad").hardlink_to("cells.h5ad")
    before = sorted(names_in("."))
    content = h5ad.read_bytes()
    done = run("cluster", *argv, "-n", N_CLUSTERS, *JOB)
    assert done.code == 2
    assert match in done.err
    assert sorted(names_in(".")) == before
    assert h5ad.read_bytes() == content


def test_a_folder_as_the_target_is_refused(run, h5ad):
    Path("x.h5ad").mkdir()
    done = run("cluster", "cells.h5ad", "-n", N_CLUSTERS, "--write", "x.h5ad", *JOB)
    assert done.code == 2
    assert "'--write': File 'x.h5ad' is a directory" in done.err


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_copy_leaves_everything_as_it_was(run, h5ad, monkeypatch, error):
    Path("written.h5ad").write_text("earlier")
    monkeypatch.setattr("mdt_fast._cli.write_back._write_elements", failing(error))
    done = run("cluster", "cells.h5ad", "-n", N_CLUSTERS, "--write", "written.h5ad", *JOB)
    assert done.code in (1, 130)
    assert Path("written.h5ad").read_text() == "earlier"
    assert names_in(".") == ["cells.h5ad", "views.npz", "written.h5ad"]


def test_links_and_permissions_are_kept(run, h5ad):
    Path("real.h5ad").write_text("earlier")
    Path("real.h5ad").chmod(0o640)
    Path("link.h5ad").symlink_to("real.h5ad")
    assert run("cluster", "cells.h5ad", "-n", N_CLUSTERS, "--write", "link.h5ad", *JOB).code == 0
    assert Path("link.h5ad").is_symlink()
    assert Path("real.h5ad").stat().st_mode & 0o777 == 0o640
    assert "mdt_cluster" in anndata.read_h5ad("real.h5ad").obs


def test_cells_of_equal_names(run, views):
    made = make_modality(views["camera"], np.arange(N), np.random.default_rng(0))
    made.obs_names = pd.Index(["same"] * N, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.write_h5ad("cells.h5ad")
        assert run("cluster", "cells.h5ad", "-n", N_CLUSTERS, "--write", "written.h5ad", *JOB).code == 0
        written = anndata.read_h5ad("written.h5ad")
    assert_array_equal(written.obs["mdt_cluster"].astype(int), read_table("out/labels.csv")["label"])


class TestCommunities:
    def test_equal_the_estimator(self, run, folder, data):
        done = run("cluster", "views.npz", "-n", "none", "--resolution", 0.5, "-o", "out", "--labels", "kind")
        assert done.code == 0, done.err
        fitted = mdt.MDTClustering(None, resolution=0.5).fit(data.views)
        table = read_table("out/labels.csv")
        assert_array_equal(table["label"], fitted.labels_)
        np.testing.assert_allclose(table["confidence"], fitted.confidence_)
        count = fitted.n_clusters_
        assert f"{count} communities of the fused graph at resolution 0.5" in done.out
        page = Page(read_report("out"))
        assert page.texts("p", class_="subtitle") == [f"{count} communities of the fused graph at resolution 0.5."]
        assert "\nn_clustersnone" in page.find("table", class_="parameters")[0]["text"]
        assert "Each view alone, and together" in page.texts("h2")

    def test_summary(self, run, folder):
        document = json.loads(run("cluster", "views.npz", "-n", "none", *JOB, "--json").out)
        assert document["resolution"] == 1.0
        assert document["n_clusters"] == len(document["cluster_sizes"])
        assert json.loads(run("cluster", "views.npz", "-n", 3, *JOB, "--json").out)["resolution"] is None

    @pytest.mark.parametrize("resolution", [1e-6, 1e6])
    def test_one_cluster_and_one_for_each_sample(self, run, folder, resolution):
        done = run("cluster", "views.npz", "-n", "none", "--resolution", resolution, "--t", 2, "-o", "out", "--json")
        assert done.code == 0
        document = json.loads(done.out)
        assert document["n_clusters"] == (1 if resolution < 1 else 150)
        assert "out/report.html" in document["files"]

    def test_resolution_needs_none(self, run, folder):
        done = run("cluster", "views.npz", "-n", 3, "--resolution", 2, *JOB)
        assert done.code == 2
        assert "--resolution: expected --n-clusters none with it, got 3." in done.err
        assert run("cluster", "views.npz", "-n", "none", "--resolution", 0, *JOB).code == 2
