"""The published study: run it again, compare it with the published numbers, and write a report.

:func:`run_paper` runs it on the data sets that can be loaded, :func:`compare` pairs its cells with
the published ones, and :func:`write_results` writes ``results.md`` with tables and figures. The
command ``mdt-fast study`` does all of this.

>>> import mdt_fast as mdt
>>> mdt.study.paper.published_score("MSRC-v5", "MDT-Direct", "ami")
PublishedScore(mean=0.7618, std=0.0264)
"""

from .._times import published_time
from ._comparison import compare
from ._published import PublishedScore, published_score
from ._results import write_results
from ._runs import QUICK, WHOLE, run_paper

__all__ = [
    "QUICK", "WHOLE", "PublishedScore", "compare", "published_score", "published_time", "run_paper", "write_results",
]  # fmt: skip
