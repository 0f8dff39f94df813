"""Cluster Debian packages by words, dependencies and tags, although most packages lack some of them.

Run: ``python examples/debian_packages.py`` for 2000 packages drawn at random, ``--all`` for all. The
packages are read from the data folder or, on a Debian machine, from the lists of apt.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize

import mdt_fast as mdt

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "debian.png"
N_PACKAGES = 2000
N_CLUSTERS = 20
# Sections with a colour of their own in the picture.
N_SECTIONS = 9
# Packages whose tags are printed, and how many tags of each.
N_SHOWN, N_TAGS = 6, 3
# Packages of the map, whose time grows with their number.
N_POINTS = 5000


def main(n_packages: int | None = N_PACKAGES, n_clusters: int = N_CLUSTERS, picture: Path = PICTURE) -> None:
    packages = mdt.datasets.fetch_debian_packages()
    chosen = choose(len(packages.target), n_packages)
    views = {name: X[chosen] for name, X in zip(packages.view_names, packages.views, strict=True)}
    sections = np.asarray(packages.target_names)[packages.target[chosen]]

    # Packages with the same tags or dependencies coincide, of which a fit warns.
    warnings.simplefilter("ignore", mdt.ViewWarning)
    model = mdt.MDTClustering(n_clusters).fit(views)
    report = mdt.view_report(model.operators_, labels=model.labels_)
    present = model.operators_.present[:, : len(views)]
    print_presence(model, present)
    print(f"\n{report}\n")
    print_agreement(model, present, views, sections)
    if "tags" in views:
        print_tags(model, packages.packages[chosen], packages.feature_names[packages.view_names.index("tags")])
    draw(model, report, present, sections, picture)


def choose(n_known: int, n_packages: int | None) -> Any:
    """Return the numbers of packages drawn at random; of all for None."""
    if n_packages is None or n_packages >= n_known:
        return np.arange(n_known)
    return np.sort(np.random.default_rng(0).choice(n_known, n_packages, replace=False))


def print_presence(model: Any, present: Any) -> None:
    print(f"{'view':<8} {'packages':>8} {'share':>6}  metric")
    for name, has in zip(model.view_names_, present.T, strict=True):
        print(f"{name:<8} {has.sum():>8} {has.mean():>6.1%}  {model.metrics_[name]}")
    print(f"{'all':<8} {present.all(axis=1).sum():>8} {present.all(axis=1).mean():>6.1%}")


def print_agreement(model: Any, present: Any, views: dict[str, Any], sections: Any) -> None:
    """Print the agreement of clusters with sections, for packages with and without holes."""
    text = mdt.MDTClustering(model.n_clusters_).fit_predict(views["text"])
    whole = present.all(axis=1)
    print(f"{'AMI with sections':<18} {'packages':>8} {'all views':>9} {'text alone':>10}")
    for name, rows in (("all", slice(None)), ("in all views", whole), ("not in all views", ~whole)):
        scores = [adjusted_mutual_info_score(sections[rows], labels[rows]) for labels in (model.labels_, text)]
        print(f"{name:<18} {len(sections[rows]):>8} {scores[0]:>9.3f} {scores[1]:>10.3f}")


def print_tags(model: Any, names: Any, tags: Any) -> None:
    """Print the most probable tags of some packages that have none."""
    found = model.impute("tags")
    print(f"\nexpected tags of {N_SHOWN} of {len(found.samples)} packages without tags")
    for row in np.linspace(0, len(found.samples) - 1, N_SHOWN).astype(int):
        likely = np.argsort(-found.values[row], kind="stable")[:N_TAGS]
        shown = ", ".join(f"{tags[tag]} {found.values[row, tag]:.2f}" for tag in likely)
        print(f"{names[found.samples[row]]:<48} {shown}")


def draw(model: Any, report: Any, present: Any, sections: Any, picture: Path) -> None:
    """Draw a map of the packages twice, by section and by the views that lack them, and the report."""
    shown = choose(len(sections), N_POINTS)
    # Directions of the coordinates, whose lengths are small in the middle of the data.
    points = TSNE(init="pca", random_state=0).fit_transform(normalize(model.embedding_[shown]))
    names, counts = np.unique(sections, return_counts=True)
    is_large = np.isin(sections[shown], names[np.argsort(-counts, kind="stable")[:N_SECTIONS]])
    lacks = [" and ".join(np.asarray(model.view_names_)[row]) for row in ~present[shown]]

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained", width_ratios=[1, 1, 0.9])
    mdt.plot.embedding(points[~is_large], ax=axes[0], color="0.85", s=6)
    mdt.plot.embedding(points[is_large], sections[shown][is_large], ax=axes[0], legend="section", s=6)
    mdt.plot.embedding(points, np.array([each or "nothing" for each in lacks]), ax=axes[1], legend="lacks", s=6)
    titles = (f"{len(shown)} packages; other sections are grey", "the same packages: which views lack them")
    for ax, title in zip(axes, titles, strict=False):
        ax.set(title=title, xlabel="", ylabel="", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    mdt.plot.views(report, ax=axes[2])
    axes[2].set_title("what each view knows of the clusters")
    figure.savefig(picture, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="cluster all packages")
    parser.add_argument("--n-packages", type=int, default=N_PACKAGES, help="number of packages that are drawn")
    parser.add_argument("--n-clusters", type=int, default=N_CLUSTERS)
    parser.add_argument("--output", type=Path, default=PICTURE, help="file of the picture")
    given = parser.parse_args()
    main(None if given.all else given.n_packages, given.n_clusters, given.output)
