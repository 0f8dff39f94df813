"""Fuzzing of the public interface and of the files that the package reads, in worker processes."""
