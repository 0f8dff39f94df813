"""Rows of views that need not be in memory: files, stores, Dask arrays and iterators."""
