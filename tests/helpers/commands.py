"""Commands on small data, and what they write."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

import mdt_fast as mdt
from helpers.page import Page

COMMAND = str(Path(sys.executable).parent / "mdt-fast")
COMMANDS = ["cluster", "embed", "demo", "study", "doctor"]
CLUSTER_FILES = ["coordinates.csv", "labels.csv", "manifest.json", "report.html", "search.json", "trajectory.json"]
EMBED_FILES = [name for name in CLUSTER_FILES if name != "labels.csv"]
N_CLUSTERS = 3
# Options of every quick job.
QUICK = ["--t", "2", "--no-report", "--output", "out"]
CLUSTER = ["cluster", "views.npz", "--n-clusters", N_CLUSTERS, "--strategy", "beam", *QUICK]
CONSENSUS = ["cluster", "views.npz", "--n-clusters", N_CLUSTERS, *QUICK]
EMBED = ["embed", "views.npz", *QUICK]


def make_views(n_samples, *, std):
    data = mdt.datasets.make_multiview_blobs(
        n_samples, n_clusters=N_CLUSTERS, n_features=4, cluster_std=std, center_box=(-5, 5), random_state=0
    )
    return SimpleNamespace(views=dict(zip(("camera", "scanner"), data.views, strict=True)), target=data.target)


def run_process(*argv, **options):
    command = [COMMAND, *map(str, argv)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=240, check=False, **options)


def contents(folder):
    """Return every file below a folder, byte for byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def read_report(folder):
    return (Path(folder) / "report.html").read_text(encoding="utf-8")


def failing(error):
    """Return a function that raises an error."""

    def fail(*args, **kwargs):
        raise error

    return fail


def read_table(path):
    # Otherwise pandas loses the last digits.
    return pd.read_csv(path, float_precision="round_trip", index_col="sample")


def outside_references(html):
    """Return the addresses outside the page that it refers to."""
    page = Page(html)
    addresses = [
        e["attrs"][name] for e in page.elements for name in ("src", "href", "xlink:href") if name in e["attrs"]
    ]
    addresses += re.findall(r"url\(['\"]?(.*?)['\"]?\)", html)
    assert addresses
    return [address for address in addresses if not address.startswith(("#", "data:image/"))]


DEMO_SEED = 1
