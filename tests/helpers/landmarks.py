"""Models that are fitted on landmarks in the tests."""

import mdt_fast as mdt

N, LANDMARKS = 900, 300
MODELS = {
    "consensus": lambda **how: mdt.MDTClustering(4, t=3, random_state=0, **how),
    "k-means": lambda **how: mdt.MDTClustering(4, strategy="mean", t=3, **how),
    "communities": lambda **how: mdt.MDTClustering(None, t=3, **how),
    "coordinates": lambda **how: mdt.MDT(3, strategy="mean", t=3, **how),
}
