"""MuData and AnnData in, a graph, weights and labels out: functions in the shape of scanpy and muon.

>>> from mdt_fast import scverse as mv
>>> mv.pp.neighbors(mdata, {"rna": "X_pca", "prot": None})  # doctest: +SKIP
>>> mv.tl.cluster(mdata)  # doctest: +SKIP
>>> mu.tl.umap(mdata, neighbors_key="mdt")  # doctest: +SKIP

Functions change the given object, or return a changed copy with ``copy=True``. They compute everything
first and write last, so that an error leaves the object as it was. What they write can be stored in
.h5ad, .h5mu and Zarr files, and unmodified scanpy and muon read it. The module is imported only when it
is asked for: ``pip install 'mdt_fast[scverse]'``.
"""

from . import pl, pp, tl

__all__ = ["pl", "pp", "tl"]
