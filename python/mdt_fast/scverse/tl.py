"""Tools: clusters, coordinates, reports, denoised and imputed features, pseudotime, and new cells."""

from ._cluster import cluster
from ._embed import embed
from ._ingest import ingest
from ._report import view_report
from ._smooth import denoise, impute
from ._times import diffusion_distance, pseudotime

__all__ = ["cluster", "denoise", "diffusion_distance", "embed", "impute", "ingest", "pseudotime", "view_report"]
