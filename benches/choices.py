"""AMI of the default and of variants that differ from it in one choice.

The protocol: a choice is made on the half "choose" of quality_sets.py, with three seeds, by the mean
AMI over the sets and by the largest standard deviation over seeds; the half "confirm" is reported
beside it. No variant uses the classes, and all know their number. Views are prepared as in
quality_sets.py. The tables are those of docs/choosing.md.

Run: ``python benches/choices.py ROWS.CSV [--seeds 3] [--half choose|confirm|all]``, with
``MDT_FAST_DATA`` set; rows that the file has are not computed again.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import mdt_fast as mdt
from bench_quality import PACKAGE, default, main
from mdt_fast.strategies import Consensus
from peers import Labels, Peer, Views


@dataclass(frozen=True)
class Undamped(Consensus):
    """A consensus of clusters of coordinates as they are."""

    damped: ClassVar[bool] = False


def variant(strategy: Any = "auto", **parameters: Any) -> Peer:
    """Return the default with some parameters changed."""

    def run(views: Views, n_clusters: int, seed: int) -> Labels:
        model = mdt.MDTClustering(n_clusters, strategy=strategy, random_state=seed, **parameters)
        return model.fit(views).labels_

    return Peer(run)


VARIANTS = {
    PACKAGE: Peer(default),
    "no joint view": variant(joint=False),
    "anisotropy 0": variant(anisotropy=0.0),
    "ln N neighbours": variant(n_neighbors="log"),
    "rows not damped": variant(Undamped()),
    "gaussian kernel": variant(kernel="gaussian"),
    "persistence": variant(quality="persistence"),
    "Calinski-Harabasz": variant(quality="calinski_harabasz"),
    "all kept": variant(Consensus(kept=1.0)),
    "half kept": variant(Consensus(kept=0.5)),
    "64 trajectories": variant(Consensus(trajectories=64)),
    "mean trajectory": variant("mean", kernel="adaptive", anisotropy=1.0),
    "beam": variant("beam", kernel="adaptive"),
}

if __name__ == "__main__":
    main(VARIANTS, __doc__)
