"""Data sets: generators, bundled digits, and readers of real multi-view files.

Every function returns a `sklearn.utils.Bunch` with `views` (a list of arrays with the same samples
as rows), `target` (classes as integers from 0, or the true parameters of a manifold), `view_names`
and `DESCR`. Data sets with named classes also have `target_names`.

Generators (`make_*`) and `load_multiview_digits` need no file. Readers (`fetch_*`) search for their
files in `data_home`; without it, in the folder of the environment variable MDT_FAST_DATA and then
in the cache folder. A missing file with a known public address is downloaded to `data_home` or to
the cache folder, and its checksum is verified. Without an address, with
`download_if_missing=False`, or if MDT_FAST_OFFLINE is set, an error names the origin of the file.
"""

from ._blobs import make_multiview_blobs
from ._debian import fetch_debian_packages
from ._digits import load_multiview_digits
from ._files import get_data_home
from ._manifolds import make_deformed_plane, make_helix_a, make_helix_b
from ._mat import fetch_caltech7, fetch_leaves, fetch_msrc, fetch_yale
from ._mnist import fetch_k_mvmnist, fetch_l_mvmnist
from ._olivetti import fetch_olivetti
from ._single_cell import fetch_citeseq_pbmc, fetch_snareseq_cellmix
from ._uci import fetch_l_isolet, fetch_multi_feat

__all__ = [
    "fetch_caltech7", "fetch_citeseq_pbmc", "fetch_debian_packages", "fetch_k_mvmnist", "fetch_l_isolet",
    "fetch_l_mvmnist", "fetch_leaves", "fetch_msrc", "fetch_multi_feat", "fetch_olivetti", "fetch_snareseq_cellmix",
    "fetch_yale", "get_data_home", "load_multiview_digits", "make_deformed_plane", "make_helix_a", "make_helix_b",
    "make_multiview_blobs",
]  # fmt: skip
